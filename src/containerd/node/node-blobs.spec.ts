import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../../test/support/simulated-clock.js';
import { newGate } from '../../../test/support/server-gate.js';
import { type ContentNode } from '../../content/index.js';
import { type Markers } from './markers.js';
import { NodeBlobs } from './node-blobs.js';
import { type NodeRecord, NodeRecords } from './node-records.js';
import { type ServerLink } from './server-link.js';

const [ONE, TWO] = ['1', '2'].map((hex) => `sha256:${hex.repeat(64)}`) as [string, string];

let directory: string;
let clock: SimulatedClock;
let records: NodeRecords;
let blobs: NodeBlobs;
/** What the server was told to forget, and what is gone. */
let released: string[];
/** Called before a record is written. */
let beforePut: (record: NodeRecord) => Promise<void> | void;
/** Of this node; and called when one is cleared. */
let marked: string[];
let onCleared: () => Promise<void>;
/** Called when the server counts this node in. */
let onCounted: (digest: string) => Promise<void>;
/** Called when the bytes are to go. */
let onDelete: () => Promise<boolean>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-blobs-'));
  records = await NodeRecords.open(directory);
  clock = new SimulatedClock();
  released = [];
  beforePut = () => undefined;
  onCounted = async () => undefined;
  onDelete = async () => true;
  marked = [];
  onCleared = async () => undefined;
  const put = records.put.bind(records);
  records.put = async (record) => {
    await beforePut(record);
    await put(record);
  };
  blobs = blobsOver(records);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function blobsOver(records: NodeRecords): NodeBlobs {
  const node = {
    store: { info: async () => ({ size: 1 }), has: async () => true },
    release: async (digest: string) => void released.push(digest),
    delete: () => onDelete(),
    removeLeftIngests: async () => [],
  } as unknown as ContentNode;
  const link = {
    call: (task: () => Promise<unknown>) => task(),
    client: { refs: { add: (digest: string) => onCounted(digest) } },
  } as unknown as ServerLink;
  const markers = { clear: () => onCleared(), own: async () => marked } as unknown as Markers;
  const log = () => undefined;
  return new NodeBlobs({ node, records, markers, link, log, clock, whenUnreachable: 'proceed' });
}

/** A write that ends well. */
async function bring(digest: string): Promise<void> {
  await blobs.claim(digest);
  await blobs.settle(digest, 1, {}, 'was written');
  await blobs.unclaim(digest);
}

/** Something to be done while a record of this state is being written. */
function whileWriting(state: NodeRecord['state'], task: () => void): void {
  beforePut = (record) => {
    if (record.state !== state) return;
    beforePut = () => undefined;
    task();
  };
}

describe('a blob containerd was told is there', () => {
  it('stays when another write of it is cancelled in the moment in which it is settled', async () => {
    let cancelled: Promise<void> | undefined;
    await blobs.claim(ONE);
    await blobs.claim(ONE);
    whileWriting('used', () => void (cancelled = blobs.unclaim(ONE)));
    await blobs.settle(ONE, 1, {}, 'was written');
    await cancelled;
    expect(blobs.used(ONE)).toMatchObject({ digest: ONE });
    await blobs.unclaim(ONE);
    expect(blobs.used(ONE)).toMatchObject({ digest: ONE });
    expect(released).toEqual([]);
  });

  it('stays when it was settled while the server, back again, was told of others', async () => {
    await blobs.claim(ONE);
    await bring(TWO);
    onCounted = async () => {
      onCounted = async () => undefined;
      await blobs.settle(ONE, 1, {}, 'was written');
      await blobs.unclaim(ONE);
    };
    const all = records.all.bind(records);
    // Enough of the others for every teller to be busy with one when the write ends.
    records.all = () => [
      ...all().filter(({ digest }) => digest === ONE),
      ...Array(8).fill(records.get(TWO)!),
    ];
    await blobs.reconcile();
    expect(blobs.used(ONE)).toMatchObject({ digest: ONE });
    expect(released).toEqual([]);
  });
});

describe('a blob that is written while the server, back again, is told of all', () => {
  it('is told when the write is over: what the server had counted before it may have forgotten', async () => {
    const counted: string[] = [];
    onCounted = async (digest) => void counted.push(digest);
    await blobs.claim(ONE);
    await blobs.count(ONE);
    await blobs.reconcile();
    expect(counted).toEqual([ONE]);
    await blobs.settle(ONE, 1, {}, 'was written');
    await blobs.unclaim(ONE);
    expect(counted).toEqual([ONE, ONE]);
  });

  it('is not, if it was not committed', async () => {
    await blobs.claim(ONE);
    await blobs.reconcile();
    onCounted = () => Promise.reject(new Error('it is counted'));
    await blobs.unclaim(ONE);
    expect(released).toEqual([ONE]);
    expect(records.all()).toEqual([]);
  });
});

describe('a blob that is claimed inside containerd’s transaction', () => {
  it('is not waited for when this node is about to give it up, and is left alone afterwards', async () => {
    await bring(ONE);
    const gate = newGate();
    onDelete = () => gate.pass().then(() => true);
    const given = blobs.giveUp(ONE);
    await gate.reached;
    const claimed = expect(blobs.claimPromptly(ONE)).rejects.toThrow('is being given up');
    await clock.advance(1000);
    await claimed;
    gate.open();
    await given;
    await expect.poll(() => records.all()).toEqual([]);
  });
});

describe('a blob that is given up', () => {
  it('while a write relies on it goes with that write, although it ends in this very moment', async () => {
    await bring(ONE);
    await blobs.claim(ONE);
    let ended: Promise<void> | undefined;
    whileWriting('claimed', () => void (ended = blobs.unclaim(ONE)));
    await blobs.giveUp(ONE);
    await ended;
    expect(records.get(ONE)).toBeUndefined();
    expect(released).toEqual([ONE]);
  });

  it('keeps containerd waiting for three seconds, and goes afterwards', async () => {
    await bring(ONE);
    const gate = newGate();
    onDelete = () => gate.pass().then(() => true);
    const given = expect(blobs.giveUp(ONE)).rejects.toThrow('is left later');
    await gate.reached;
    expect(() => blobs.used(ONE)).toThrow('not found');
    await clock.advance(3000);
    await given;
    expect(blobs.listed()).toMatchObject([{ digest: ONE }]);
    gate.open();
    await expect.poll(() => records.all()).toEqual([]);
  });

  it('keeps containerd waiting as long as it may still be told that it is there', async () => {
    await bring(ONE);
    const gate = newGate();
    onCounted = () => gate.pass();
    const told = blobs.reconcile();
    await gate.reached;
    let isOver = false;
    const given = blobs.giveUp(ONE).then(() => (isOver = true));
    await clock.advance(60_000);
    expect(blobs.used(ONE)).toMatchObject({ digest: ONE });
    expect(isOver).toBe(false);
    gate.open();
    await Promise.all([told, given]);
    expect(records.all()).toEqual([]);
  });

  it('while a write relies on it stays if that is committed', async () => {
    await bring(ONE);
    await blobs.claim(ONE);
    await blobs.giveUp(ONE);
    await blobs.settle(ONE, 1, {}, 'was written');
    await blobs.unclaim(ONE);
    expect(blobs.used(ONE)).toMatchObject({ digest: ONE });
    expect(released).toEqual([]);
  });

  it('goes, with the help of the next process, when this one dies as soon as the server has forgotten the node', async () => {
    await bring(ONE);
    onDelete = () => Promise.reject(new Error('the process is gone'));
    await expect(blobs.giveUp(ONE)).rejects.toThrow('the process is gone');
    expect(released).toEqual([ONE]);
    onDelete = async () => true;
    onCounted = () => Promise.reject(new Error('it is counted again'));
    records = await NodeRecords.open(directory);
    blobs = blobsOver(records);
    expect(() => blobs.used(ONE)).toThrow('not found');
    await blobs.reconcile();
    expect(records.all()).toEqual([]);
  });
});

describe('a marker of what is not used any more', () => {
  it('is cleared before a write that has just begun can set it again', async () => {
    const order: string[] = [];
    marked = [ONE];
    let claimed: Promise<void> | undefined;
    beforePut = () => void order.push('claimed');
    onCleared = async () => {
      claimed = blobs.claim(ONE);
      for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
      order.push('cleared');
    };
    await blobs.reconcile();
    await claimed;
    expect(order).toEqual(['cleared', 'claimed']);
  });
});
