import { expect, it } from 'vitest';
import { type TestServer, until } from '../support/server-bootstrap.js';
import { type Deed, DEEDS, expectSwept, expectWhole, sceneOf } from './deeds.js';
import { FaultyDisk } from './faulty-disk.js';
import { isolating, nodeOf, pull } from './setup.js';

const ENDS = [
  { name: 'before', after: false, powerCut: false },
  { name: 'after', after: true, powerCut: false },
  { name: 'with the power cut right after', after: true, powerCut: true },
];

/** Runs the deed with the process ending at this step; false if it has fewer steps. */
async function crashing(
  server: TestServer,
  deed: Deed,
  step: number,
  end: (typeof ENDS)[number],
): Promise<boolean> {
  const { directory, blob } = await sceneOf(server, deed);
  const disk = new FaultyDisk();
  const victim = await nodeOf(server, directory, 'victim', { fileSystem: disk });
  const died = new Promise<void>((resolve) => (disk.onCrash = () => resolve(victim.client.close())));
  disk.crash(step, end.after);
  const outcome = await deed.run(victim, blob).then(
    () => 'done',
    () => 'failed',
  );
  if (disk.isAlive) {
    expect(outcome).toBe('done');
    return false;
  }
  await died;
  if (end.powerCut) await disk.powerCut();
  await expectWhole(directory);

  const survivor = await nodeOf(server, directory, 'survivor');
  await pull(survivor.node, blob);
  expect(await survivor.store.read(blob.digest, 0, blob.bytes.length)).toEqual(blob.bytes);
  await expectWhole(directory);
  await expectSwept(directory, survivor, blob);
  await survivor.client.close();
  return true;
}

it.each(DEEDS.flatMap((deed) => ENDS.map((end) => [deed.name, end.name, deed, end] as const)))(
  '%s whose process ends %s any of its steps leaves nothing half-done, and the next node succeeds',
  async (_deed, _end, deed, end) => {
    const server = await isolating({ logLevel: 'error' });
    let step = 1;
    while (await crashing(server, deed, step, end)) step++;
    expect(step).toBeGreaterThan(8);
    await until(async () => (await server.get('/locks')).body.locks.length === 0);
  },
);
