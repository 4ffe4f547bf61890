import { type Layer } from './image.js';

interface Amount {
  readonly downloads: number;
  readonly bytes: number;
}

/** What really happened, written down as it happens; every figure of the demo is counted from here. */
export class Ledger {
  /** By node and layer. */
  private readonly obtained = new Map<
    string,
    { node: string; layer: Layer; how: 'downloaded' | 'skipped' }
  >();
  private begun = 0;
  private transferred = 0;
  /** Downloads that got all of their layer. */
  completed = 0;
  failed = 0;

  begin(): void {
    this.begun++;
  }

  transfer(bytes: number): void {
    this.transferred += bytes;
  }

  complete(node: string, layer: Layer): void {
    this.completed++;
    this.obtain(node, layer, 'downloaded');
  }

  skip(node: string, layer: Layer): void {
    this.obtain(node, layer, 'skipped');
  }

  countOf(node: string, how: 'downloaded' | 'skipped'): number {
    return [...this.obtained.values()].filter((entry) => entry.node === node && entry.how === how).length;
  }

  /** What was downloaded, parts that were of no use included. */
  get with(): Amount {
    return { downloads: this.begun, bytes: this.transferred };
  }

  /** Each node would have downloaded each layer it has now. */
  get without(): Amount {
    const bytes = [...this.obtained.values()].reduce((sum, { layer }) => sum + layer.bytes, 0);
    return { downloads: this.obtained.size, bytes };
  }

  get saved(): Amount {
    const { with: used, without } = this;
    return { downloads: without.downloads - used.downloads, bytes: without.bytes - used.bytes };
  }

  /** Downloads that failed or died with their node. */
  get interrupted(): number {
    return this.begun - this.completed;
  }

  private obtain(node: string, layer: Layer, how: 'downloaded' | 'skipped'): void {
    this.obtained.set(`${node} ${layer.digest}`, { node, layer, how });
  }
}
