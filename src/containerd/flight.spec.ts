import { describe, expect, it } from 'vitest';
import { PresentFlight } from './flight.js';
import { type NodeBlobs } from './node/node-blobs.js';

const DIGEST = `sha256:${'1'.repeat(64)}`;

/** A delete has the blob's turn, and asks a server that does not answer. */
const blobs = {
  settle: async () => undefined,
  unclaim: () => new Promise<void>(() => undefined),
} as unknown as NodeBlobs;

async function isClosed(flight: PresentFlight): Promise<boolean> {
  let isOver = false;
  void flight.close().then(() => (isOver = true));
  for (let n = 0; n < 20; n++) await undefined;
  return isOver;
}

describe('a blob that is being given up while it is written', () => {
  it('keeps no commit waiting', async () => {
    const flight = new PresentFlight(DIGEST, 1, blobs, 'was there already');
    await flight.commit({ digest: DIGEST, total: 1, labels: {} });
    expect(await isClosed(flight)).toBe(true);
  });

  it('keeps a write that was not committed', async () => {
    expect(await isClosed(new PresentFlight(DIGEST, 1, blobs, 'was there already'))).toBe(false);
  });
});
