import { describe, expect, it } from 'vitest';
import { ServerLink } from '../../src/containerd/node/server-link.js';
import { type LockClient, UnavailableError, WaitTimeoutError } from '../../src/client/index.js';

const PRESENCE = { type: 'node', resourceId: 'n1' };

const gone = () => Promise.reject(new UnavailableError('UNAVAILABLE', 'No answer'));

/** A server that grants everything. */
const client = {
  lock: async () => ({ hold: { signal: new AbortController().signal }, isolation: 'resource' }),
  unlock: async () => undefined,
  refs: { get: async () => ({ count: 0, nodes: [] }) },
} as unknown as LockClient;

/** `up` runs against a server that is gone for the first tries, as told; what it does about that is its affair. */
function linkWith(up: (link: ServerLink, tries: number) => Promise<unknown>): ServerLink {
  let tries = 0;
  const link: ServerLink = new ServerLink(client, ['http://127.0.0.1:1'], {
    up: async () => void (await up(link, ++tries)),
    wrong: () => undefined,
    log: () => undefined,
  });
  return link;
}

async function expectToReach(link: ServerLink): Promise<void> {
  await expect
    .poll(() => link.call(async () => 'reached').catch(() => ''), { timeout: 5000 })
    .toBe('reached');
}

describe('a server that is gone again while it is told what the node uses', () => {
  it('is tried again, also where the telling went on without it', async () => {
    const link = linkWith(async (it, tries) => {
      if (tries === 2) await it.call(gone).catch(() => undefined);
    });
    await link.open();
    await link.begin();
    await expect(link.call(gone)).rejects.toThrow('try again later');
    await expectToReach(link);
    await link.close();
  });

  it('does not keep the plugin from starting', async () => {
    const link = linkWith(async (it, tries) => {
      if (tries === 1) await it.call(gone);
    });
    await link.open();
    await link.begin();
    await expectToReach(link);
    await link.close();
  });
});

describe('a node that cannot tell what it uses', () => {
  it('says why, each time, and tries again', async () => {
    const said: string[] = [];
    let tries = 0;
    const link = new ServerLink(client, ['http://127.0.0.1:1'], {
      up: async () => {
        if (++tries === 2) throw new Error('EIO: a bad disk');
      },
      wrong: () => undefined,
      log: (line) => said.push(line),
    });
    await link.open();
    await link.begin();
    await expect(link.call(gone)).rejects.toThrow('try again later');
    await expect.poll(() => tries, { timeout: 5000 }).toBe(3);
    expect(said).toContain('What this node uses could not be told: EIO: a bad disk');
    await link.close();
  });
});

describe('a process that the server has forgotten', () => {
  /** An open link whose process the server can be made to forget; `again` is what that is then answered. */
  async function openLink(again: () => object) {
    const ended = new AbortController();
    const held = { hold: { signal: ended.signal, isLost: false }, isolation: 'resource' };
    let asked = 0;
    const forgetful = {
      ...client,
      lock: async ({ type }: { type: string }) => (type === 'serve' && asked++ > 0 ? again() : held),
      status: async () => ({ held: true }),
    } as unknown as LockClient;
    const seen: string[] = [];
    const link = new ServerLink(forgetful, ['http://127.0.0.1:1'], {
      up: async () => void seen.push('up'),
      wrong: ({ code }) => void seen.push(code),
      log: () => undefined,
    });
    const forget = () => {
      held.hold.isLost = true;
      ended.abort();
    };
    await link.open();
    await link.begin();
    return { link, seen, forget };
  }

  it('says again that it serves its node, and tells all that the node uses', async () => {
    const fresh = { hold: { signal: new AbortController().signal, isLost: false } };
    const { link, seen, forget } = await openLink(() => fresh);
    forget();
    await expect.poll(() => seen).toEqual(['up', 'up']);
    await link.close();
  });

  it('and whose node another process serves meanwhile must not go on', async () => {
    const { link, seen, forget } = await openLink(() => ({ error: new WaitTimeoutError(1, PRESENCE) }));
    forget();
    await expect.poll(() => seen).toEqual(['up', 'NODE_TAKEN']);
    await link.close();
  });

  it('does nothing about it once it is closed', async () => {
    const { link, seen, forget } = await openLink(() => ({ error: new WaitTimeoutError(1, PRESENCE) }));
    await link.close();
    forget();
    await new Promise(setImmediate);
    expect(seen).toEqual(['up']);
  });
});
