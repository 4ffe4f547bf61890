import { moveCursor } from 'node:readline';
import { hasColours, painter, print } from '../output.js';
import { type DemoNode } from './demo-node.js';
import { type Layer, size } from './image.js';
import { type Ledger } from './ledger.js';

/** Of a terminal that does not say how large it is. */
const DEFAULT_COLUMNS = 80;

const DEFAULT_ROWS = 24;

const BAR_WIDTH = 24;

/** A name, a bar, the count, and what can be read of what it does. */
const LINE_COLUMNS = 60;

/** Beside the nodes: what goes wrong on purpose, and the line below. */
const OTHER_ROWS = 3;

/** Smooth enough, and little to write. */
const REDRAW_MS = 80;

/** What one sees while it runs. */
export interface Board {
  tell(what: string): void;
  end(): void;
}

export interface Stage {
  readonly nodes: readonly DemoNode[];
  readonly image: readonly Layer[];
  readonly ledger: Ledger;
  readonly serverUrl: string;
}

export type BoardMaker = (stage: Stage) => Board;

export function noBoard(): Board {
  return { tell: () => undefined, end: () => undefined };
}

/** Bars on a terminal with room for them, elsewhere only what is worth a line. */
export function textBoard(stage: Stage): Board {
  const { nodes, image, serverUrl } = stage;
  const bytes = image.reduce((sum, layer) => sum + layer.bytes, 0);
  print(
    `${nodes.length} nodes pull one image of ${image.length} layers (${size(bytes)}) through ${serverUrl}\n`,
  );
  return hasColours(process.stdout) && hasRoom(nodes.length)
    ? new LiveBoard(stage)
    : { tell: print, end: () => undefined };
}

class LiveBoard implements Board {
  private readonly news: string[] = [];
  private readonly timer = setInterval(() => this.draw(), REDRAW_MS);
  private drawn = 0;

  constructor(private readonly stage: Stage) {}

  tell(what: string): void {
    this.news.push(what);
  }

  end(): void {
    clearInterval(this.timer);
    this.draw();
  }

  private draw(): void {
    const news = this.news.map((what) => painter(process.stdout)('yellow', cut(what, 0)));
    const lines = [...this.stage.nodes.map((node) => this.line(node)), ...news];
    if (this.drawn > 0) moveCursor(process.stdout, 0, -this.drawn);
    process.stdout.write(lines.map((line) => `${line}\x1b[K\n`).join(''));
    this.drawn = lines.length;
  }

  private line(node: DemoNode): string {
    const { image, ledger } = this.stage;
    const paint = painter(process.stdout);
    const has = ledger.countOf(node.name, 'downloaded') + ledger.countOf(node.name, 'skipped');
    const full = Math.round((has / image.length) * BAR_WIDTH);
    const colour = node.isDead ? 'red' : 'green';
    const bar = paint(colour, '█'.repeat(full)) + paint('dim', '░'.repeat(BAR_WIDTH - full));
    const count = `${String(has).padStart(2)}/${image.length}`;
    const used = node.name.length + BAR_WIDTH + count.length + 6;
    return `${node.name}  ${bar}  ${count}  ${paint('dim', cut(this.doing(node, has), used))}`;
  }

  private doing(node: DemoNode, has: number): string {
    if (node.isDead) return 'crashed';
    if (has === this.stage.image.length) return 'done';
    const parts = [...node.downloads].map(
      ([layer, bytes]) => `layer ${layer.number} ${Math.floor((100 * bytes) / layer.bytes)}%`,
    );
    return parts.length > 0 ? `downloads ${parts.join(', ')}` : 'waits for the others';
  }
}

/** What wraps, or is above the top of the screen, could not be drawn over. */
function hasRoom(nodes: number): boolean {
  const { columns, rows } = process.stdout;
  return (columns || DEFAULT_COLUMNS) >= LINE_COLUMNS && (rows || DEFAULT_ROWS) >= nodes + OTHER_ROWS;
}

/** Lines that wrap would not be drawn over. */
function cut(text: string, usedColumns: number): string {
  return text.slice(0, Math.max(0, (process.stdout.columns || DEFAULT_COLUMNS) - usedColumns - 1));
}
