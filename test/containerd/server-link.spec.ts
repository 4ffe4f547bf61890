import { describe, expect, it } from 'vitest';
import { ServerLink } from '../../src/containerd/node/server-link.js';
import { type LockClient, UnavailableError } from '../../src/client/index.js';

const gone = () => Promise.reject(new UnavailableError('UNAVAILABLE', 'No answer'));

/** A server that grants everything. */
const client = {
  lock: async () => ({ hold: {}, isolation: 'resource' }),
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

describe('a server that is gone again while it is told what the node uses', () => {
  it('is tried again, also where the telling went on without it', async () => {
    const link = linkWith(async (it, tries) => {
      if (tries === 2) await it.call(gone).catch(() => undefined);
    });
    await link.open();
    await expect(link.call(gone)).rejects.toThrow('try again later');
    await expect
      .poll(() => link.call(async () => 'reached').catch(() => ''), { timeout: 5000 })
      .toBe('reached');
    await link.close();
  });

  it('does not keep the plugin from starting', async () => {
    const link = linkWith(async (it, tries) => {
      if (tries === 1) await it.call(gone);
    });
    await link.open();
    await expect
      .poll(() => link.call(async () => 'reached').catch(() => ''), { timeout: 5000 })
      .toBe('reached');
    await link.close();
  });
});
