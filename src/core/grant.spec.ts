import { describe, expect, it } from 'vitest';
import { resource } from '../../test/support/resource-driver.js';

/** A success of the type is recorded, n2 withdrew before it and n3 was dismissed by it. */
function remembering(type: string) {
  const r = resource();
  r.grant(type, 'n1');
  const ticket = r.queue(type, 'n2');
  r.withdraw(type, 'n2');
  r.queue(type, 'n3');
  r.succeed(type, 'n1');
  return { r, ticket };
}

describe('granting a delete', () => {
  it('voids the success and the dismissals of the other types', () => {
    const { r, ticket } = remembering('update');
    r.grant('delete', 'n9');
    expect(r.key('update').success).toBeUndefined();
    expect(r.dismissed('update')).toEqual([]);
    r.fail('delete', 'n9');
    expect(r.acquire('update', 'n2', { ticket })).toMatchObject({ kind: 'acquired' });
    expect(r.acquire('update', 'n3')).toMatchObject({ kind: 'queued' });
  });

  it('leaves dismissals by a failure: they say nothing of a resource that is gone', () => {
    const r = resource();
    r.grant('update', 'n1');
    r.queue('update', 'n2');
    r.failFatally('update', 'n1');
    r.grant('delete', 'n9');
    expect(r.dismissed('update')).toEqual(['n2']);
    expect(r.acquire('update', 'n2')).toMatchObject({ kind: 'refused', code: 'OPERATION_FAILED' });
  });

  it('voids a dismissal by success that stands without one', () => {
    const r = resource();
    r.grant('pull', 'n1');
    r.queue('pull', 'n2');
    r.run({ kind: 'add-reference', nodeId: 'n3' });
    r.fail('pull', 'n1');
    expect(r.dismissed('pull')).toEqual(['n2']);
    for (const nodeId of ['n2', 'n3']) r.run({ kind: 'release-reference', nodeId });
    r.grant('delete', 'n9');
    expect(r.dismissed('pull')).toEqual([]);
  });

  it('voids them also when it is handed over', () => {
    const r = resource();
    r.grant('delete', 'n8');
    r.queue('delete', 'n9');
    r.grant('scan', 'n1');
    r.fail('delete', 'n8');
    expect(r.holder('delete')).toBe('n9');
    r.succeed('scan', 'n1');
    expect(r.key('scan').success).toBeUndefined();
  });

  it('leaves what deletes remember', () => {
    const { r, ticket } = remembering('delete');
    r.grant('delete', 'n9');
    expect(r.acquire('delete', 'n2', { ticket })).toMatchObject({ kind: 'skipped' });
    expect(r.acquire('delete', 'n3')).toMatchObject({ kind: 'skipped' });
  });
});

describe('a queue that is refused in the step that grants another type', () => {
  it('is still told of the refusal', () => {
    const r = resource({ lockIsolation: 'resource' });
    r.grant('pull', 'n1');
    r.queue('delete', 'n2');
    r.queue('scan', 'n3');
    r.succeed('pull', 'n1');
    expect(r.holder('scan')).toBe('n3');
    expect(r.acquire('delete', 'n2')).toMatchObject({ kind: 'refused', code: 'RESOURCE_IN_USE' });
    r.run({ kind: 'release-reference', nodeId: 'n1' });
    expect(r.acquire('delete', 'n2')).toMatchObject({ kind: 'queued' });
  });
});

describe('a success beside a delete that began and ended in the same commit', () => {
  it('is newer than that delete and is recorded', () => {
    const r = resource();
    r.grant('update', 'n1');
    const end = { kind: 'release', success: true, error: '', fatal: false } as const;
    r.combine(
      { kind: 'acquire', type: 'delete', asker: { nodeId: 'n2' } },
      { ...end, type: 'delete', asker: { nodeId: 'n2' } },
      { ...end, type: 'update', asker: { nodeId: 'n1' } },
    );
    expect(r.key('update').success).toBeDefined();
    expect(r.key('delete').success).toBeDefined();
  });
});

describe('granting another type', () => {
  it.each(['pull', 'update', 'scan'])('(%s) voids the success and the dismissals of the delete', (type) => {
    const { r, ticket } = remembering('delete');
    r.grant(type, 'n9');
    expect(r.key('delete').success).toBeUndefined();
    expect(r.dismissed('delete')).toEqual([]);
    r.fail(type, 'n9');
    expect(r.acquire('delete', 'n2', { ticket })).toMatchObject({ kind: 'acquired' });
  });

  it('leaves what the others remember', () => {
    const { r, ticket } = remembering('update');
    r.grant('scan', 'n9');
    expect(r.acquire('update', 'n2', { ticket })).toMatchObject({ kind: 'skipped' });
    expect(r.dismissed('update')).toEqual(['n3']);
  });
});
