import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { type LockClient, type LockClientOptions } from '../../src/client/index.js';
import {
  type ContentFileSystem,
  ContentNode,
  ContentStore,
  type RefCountManager,
} from '../../src/content/index.js';
import { clientOf } from '../client/setup.js';
import { TestServer } from '../support/server-bootstrap.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** All of these end with the test. */

export function directoryOf(): string {
  const directory = temporaryDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function isolating(settings: object = {}): Promise<TestServer> {
  return TestServer.start({ lockIsolation: 'resource', ...settings });
}

export interface NodeOptions extends Partial<LockClientOptions> {
  readonly fileSystem?: ContentFileSystem;
  readonly refs?: RefCountManager;
}

export interface TestNode {
  readonly node: ContentNode;
  readonly store: ContentStore;
  readonly client: LockClient;
}

export async function nodeOf(
  server: { readonly url: string },
  directory: string,
  nodeId = 'n1',
  { fileSystem, refs, ...options }: NodeOptions = {},
): Promise<TestNode> {
  const client = clientOf(server, nodeId, options);
  const store = await ContentStore.open(directory, fileSystem ? { fileSystem } : {});
  onTestFinished(() => store.close());
  return { node: new ContentNode({ store, client, refs }), store, client };
}

export interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
  readonly ref: string;
}

export function blobOf(bytes: Buffer | string = randomBytes(1000)): Blob {
  const buffer = Buffer.from(bytes as Buffer);
  const digest = `sha256:${createHash('sha256').update(buffer).digest('hex')}`;
  return { digest, bytes: buffer, ref: `demo/1/layer-${digest}` };
}

/** `pull` as a node does it; how often the source was asked is in `fetched`. */
export async function pull(node: ContentNode, { ref, digest, bytes }: Blob): Promise<'fetched' | 'skipped'> {
  const { skipped } = await node.pull(ref, digest, bytes.length, (writer) => writer.write(bytes));
  return skipped ? 'skipped' : 'fetched';
}
