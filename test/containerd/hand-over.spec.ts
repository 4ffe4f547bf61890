import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeName } from '../../src/content/index.js';
import { directoryOf, isolating } from '../content/setup.js';
import { ServedNode } from '../support/containerd/served-node.js';
import { stoppedDelete, type StoppedDelete } from '../support/containerd/stopped-delete.js';
import { digestOf } from '../support/registry/image.js';
import { type TestServer } from '../support/server-bootstrap.js';

/** Markers become references while another node deletes. */

const bytes = randomBytes(1000);
const digest = digestOf(bytes);
const hex = digest.slice('sha256:'.length);

let server: TestServer;
let root: string;
let served: ServedNode;

beforeEach(async () => {
  server = await isolating({ logLevel: 'error', sessionTtlMs: 1000 });
  served = await ServedNode.start(directoryOf(), server.url);
  root = served.root;
  await served.store(bytes);
});
afterEach(() => served.stop());

/** The node has marked the blob, and the server does not know of it. */
async function onlyMarked(): Promise<void> {
  await served.stop();
  await server.post('/refcounts/release', { resource_id: digest, node_id: 'a' });
  mkdirSync(join(root, 'refs', hex));
  writeFileSync(join(root, 'refs', hex, nodeName('a')), '');
}

/** Another node that has moved the blob aside, and has not looked for markers. */
async function deleting(): Promise<StoppedDelete> {
  const stopped = await stoppedDelete(server, root, digest, 'before it looks for markers');
  expect(existsSync(join(root, 'blobs/sha256', hex))).toBe(false);
  return stopped;
}

async function expectToBeUsed(): Promise<void> {
  expect(await served.client.info(digest)).toMatchObject({ digest });
  expect(await served.client.read(digest)).toEqual(bytes);
  const { body } = await server.get(`/refcounts?resource_id=${encodeURIComponent(digest)}`);
  expect(body.nodes).toMatchObject([{ node_id: 'a' }]);
  expect(readdirSync(join(root, 'refs'))).toEqual([]);
}

describe('a blob that this node has marked and that another has moved aside to delete it', () => {
  it('stays this node’s when that one finds the marker', async () => {
    await onlyMarked();
    const { goOn, done } = await deleting();
    const started = served.startAgain();
    await delay(300); // it has been refused by now: it tries again until nobody deletes
    goOn();
    expect(await done).toMatchObject({ code: 'IN_USE' });
    await started;
    await expectToBeUsed();
  });

  it('stays this node’s when that one dies before it looks', async () => {
    await onlyMarked();
    const { die } = await deleting();
    const started = served.startAgain();
    await die();
    await started;
    await expectToBeUsed();
  });
});
