import { setTimeout as pause } from 'node:timers/promises';
import { LockClient } from '../../client/index.js';
import { type Layer } from './image.js';
import { type Ledger } from './ledger.js';
import { MortalClock } from './mortal-clock.js';

/** As container runtimes do. */
const PARALLEL_PULLS = 3;

const TICK_MS = 25;

/** What goes wrong on purpose, with the first download that gets half of this layer. */
export interface Mishaps {
  failing: Layer | undefined;
  crashing: Layer | undefined;
}

export interface Scene {
  readonly serverUrl: string;
  readonly image: readonly Layer[];
  readonly ledger: Ledger;
  readonly mishaps: Mishaps;
  readonly bytesPerMs: number;
  /** Something worth a line. */
  readonly tell: (what: string) => void;
}

class Crashed extends Error {}

/** A node that pulls an image as a real one would; only the bytes are not real. */
export class DemoNode {
  readonly client: LockClient;
  /** Bytes so far, by layer, of what it downloads now. */
  readonly downloads = new Map<Layer, number>();
  private readonly clock = new MortalClock();
  private readonly death = new AbortController();

  constructor(
    readonly name: string,
    private readonly scene: Scene,
  ) {
    const { serverUrl } = scene;
    this.client = new LockClient({ serverUrl, nodeId: name, clock: this.clock, retryIntervalMs: 100 });
  }

  get isDead(): boolean {
    return this.death.signal.aborted;
  }

  /** Resolves when it has all layers, or has crashed. */
  async pullImage(): Promise<void> {
    const left = [...this.scene.image];
    const pullNext = async () => {
      for (let layer = left.shift(); layer; layer = left.shift()) await this.pull(layer);
    };
    try {
      await Promise.all(Array.from({ length: PARALLEL_PULLS }, pullNext));
    } catch (error) {
      if (!(error instanceof Crashed)) throw error;
    }
  }

  /** After a failure it asks again; by then another node is at it, or done. */
  private async pull(layer: Layer): Promise<void> {
    const { scene, client, name } = this;
    for (;;) {
      try {
        const key = { type: 'pull', resourceId: layer.digest };
        const work = () => this.download(layer);
        const { status } = await client.runOnce(key, work, { signal: this.death.signal });
        if (status === 'skipped') scene.ledger.skip(name, layer);
        return;
      } catch (error) {
        if (this.isDead) throw error;
        this.downloads.delete(layer);
      }
    }
  }

  private async download(layer: Layer): Promise<void> {
    const { scene, downloads } = this;
    if (this.isDead) return never();
    scene.ledger.begin();
    downloads.set(layer, 0);
    let sinceMs = performance.now();
    for (let bytes = 0; bytes < layer.bytes; downloads.set(layer, bytes)) {
      await pause(TICK_MS);
      if (this.isDead) return never();
      const nowMs = performance.now();
      const more = Math.min(layer.bytes - bytes, Math.round((nowMs - sinceMs) * scene.bytesPerMs));
      sinceMs = nowMs;
      bytes += more;
      scene.ledger.transfer(more);
      if (bytes >= layer.bytes / 2) await this.suffer(layer);
    }
    downloads.delete(layer);
    scene.ledger.complete(this.name, layer);
  }

  private suffer(layer: Layer): Promise<void> | void {
    const { mishaps, ledger, tell } = this.scene;
    const { name } = this;
    if (mishaps.failing === layer) {
      mishaps.failing = undefined;
      ledger.failed++;
      tell(`${name}: the download of layer ${layer.number} failed; the next in line takes over`);
      throw new Error('connection reset by the registry');
    }
    if (mishaps.crashing !== layer) return;
    mishaps.crashing = undefined;
    tell(`${name}: crashed in layer ${layer.number}; the next takes over when its session ends`);
    this.clock.stop();
    this.death.abort(new Crashed());
    return never();
  }
}

/** The dead do not report. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
