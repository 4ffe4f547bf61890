import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Markers } from '../../../src/containerd/node/markers.js';
import { ContentNode, ContentStore, nodeName } from '../../../src/content/index.js';
import { clientOf } from '../../client/setup.js';
import { newGate } from '../server-gate.js';

export interface StoppedDelete {
  goOn(): void;
  /** Its node dies. */
  die(): Promise<void>;
  /** What came of it. */
  readonly done: Promise<unknown>;
}

/** Node `b` has moved a blob aside, to delete it, and does nothing more until it is told to. */
export async function stoppedDelete(
  server: { readonly url: string },
  root: string,
  digest: string,
  stops: 'before it looks for markers' | 'after that',
): Promise<StoppedDelete> {
  const client = clientOf(server, 'b');
  const store = await ContentStore.open(root);
  const markers = await Markers.open(join(root, 'refs'), nodeName('b'));
  const gate = newGate();
  const isMarked = async () => {
    const look = async () => (await markers.nodes(digest)).length > 0;
    const seen = stops === 'after that' ? await look() : undefined;
    await gate.pass();
    return seen ?? look();
  };
  const done = new ContentNode({ store, client, isMarked }).delete(digest).catch((error: unknown) => error);
  onTestFinished(() => gate.open());
  await gate.reached;
  return { goOn: () => gate.open(), die: () => client.close(), done };
}
