import { setTimeout as sleep } from 'node:timers/promises';
import { type OldGoClient } from './old-go-client.js';

export interface Download {
  readonly node: string;
  readonly layer: string;
  readonly startedAt: number;
  endedAt: number;
  readonly error: string;
}

/** The downloads of all nodes: who did which layer, when, and how it ended. */
export class Downloads {
  readonly all: Download[] = [];

  /** `errorOf`: with what the n-th download of a layer fails (n from 1); empty: it succeeds. */
  constructor(
    private readonly takesMs: number,
    private readonly errorOf: (n: number) => string = () => '',
  ) {}

  of(layer: string): Download[] {
    return this.all.filter((download) => download.layer === layer);
  }

  /** Layers that two nodes worked on at the same time. */
  get doubled(): string[] {
    const overlaps = (a: Download, b: Download) =>
      a !== b && a.layer === b.layer && a.startedAt < b.endedAt && b.startedAt < a.endedAt;
    return this.all.filter((a) => this.all.some((b) => overlaps(a, b))).map(({ layer }) => layer);
  }

  /** Gives the error it ended with. */
  async run(node: string, layer: string): Promise<string> {
    const error = this.errorOf(this.of(layer).length + 1);
    const download = { node, layer, startedAt: performance.now(), endedAt: Infinity, error };
    this.all.push(download);
    await sleep(this.takesMs);
    download.endedAt = performance.now();
    return error;
  }
}

export interface Work {
  readonly client: OldGoClient;
  readonly downloads: Downloads;
  readonly type: string;
}

/** What a node does for an image: all its layers at once, each until it is there. */
export async function fetchImage(work: Work, layers: readonly string[]): Promise<void> {
  await Promise.all(layers.map((layer) => fetchLayer(work, layer)));
}

async function fetchLayer({ client, downloads, type }: Work, layer: string): Promise<void> {
  const key = { type, resource_id: layer };
  while ((await client.lock(key)) === 'acquired') {
    const error = await downloads.run(client.nodeId, layer);
    await client.unlock(key, error);
    if (error === '') return;
  }
}
