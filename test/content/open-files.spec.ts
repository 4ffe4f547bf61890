import { expect, it } from 'vitest';
import { type Deed, DEEDS } from './deeds.js';
import { FailingCall } from './failing-call.js';
import { blobOf, directoryOf, isolating, nodeOf, pull } from './setup.js';

const READS: Deed = {
  name: 'a look, a read and a sweep',
  isThere: true,
  run: async ({ node, store }, { digest }) => {
    await store.info(digest);
    await store.read(digest, 0, 10);
    await node.sweep({ leftAfterMs: 0 });
  },
};

it.each([...DEEDS, READS])('$name leaves no file open, whichever call fails', async ({ run, isThere }) => {
  const server = await isolating({ logLevel: 'fatal' });
  const disk = new FailingCall();
  let call = 0;
  do {
    const directory = directoryOf();
    const blob = blobOf();
    const before = await nodeOf(server, directory, 'before');
    if (isThere) {
      await pull(before.node, blob);
      await before.node.release(blob.digest);
    }
    const tried = await nodeOf(server, directory, 'n1', { fileSystem: disk });
    disk.fail(++call);
    await run(tried, blob).catch(() => undefined);
    tried.store.close();
    await expect.poll(() => disk.openFiles, { message: `after call ${call} failed` }).toBe(0);
    await Promise.all([before.client.close(), tried.client.close()]);
  } while (disk.hasFailed);
  expect(call).toBeGreaterThan(10);
});
