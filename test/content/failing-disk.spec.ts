import { expect, it } from 'vitest';
import { type TestServer, until } from '../support/server-bootstrap.js';
import { type Deed, DEEDS, expectSwept, expectWhole, sceneOf } from './deeds.js';
import { FailingCall } from './failing-call.js';
import { isolating, nodeOf, pull } from './setup.js';

/** Runs the deed with this call to the file system failing, the process going on; false if it makes fewer calls. */
async function failing(server: TestServer, deed: Deed, call: number): Promise<boolean> {
  const { directory, blob, before } = await sceneOf(server, deed);
  const disk = new FailingCall();
  const victim = await nodeOf(server, directory, 'victim', { fileSystem: disk });
  disk.fail(call);
  const outcome = await deed.run(victim, blob).then(
    () => 'done',
    () => 'failed',
  );
  if (!disk.hasFailed) {
    expect(outcome).toBe('done');
    return false;
  }
  await expectWhole(directory);
  if (outcome === 'done') expect(await before.store.has(blob.digest)).toBe(deed.name !== 'a delete');
  expect((await server.get('/locks')).body.locks.filter(({ held }: { held: boolean }) => held)).toEqual([]);

  const survivor = await nodeOf(server, directory, 'survivor');
  await pull(survivor.node, blob);
  expect(await survivor.store.read(blob.digest, 0, blob.bytes.length)).toEqual(blob.bytes);
  await expectWhole(directory);
  await deed.run(victim, blob).catch(() => undefined);
  expect(await survivor.store.read(blob.digest, 0, blob.bytes.length)).toEqual(blob.bytes);
  await expectSwept(directory, survivor, blob);
  for (const one of [before, victim, survivor]) await one.client.close();
  return true;
}

it.each(DEEDS.map((deed) => [deed.name, deed] as const))(
  '%s of which any call to the disk fails leaves nothing half-done, and the next node succeeds',
  async (_, deed) => {
    const server = await isolating({ logLevel: 'error' });
    let call = 1;
    while (await failing(server, deed, call)) call++;
    expect(call).toBeGreaterThan(8);
    await until(async () => (await server.get('/locks')).body.locks.length === 0);
  },
);
