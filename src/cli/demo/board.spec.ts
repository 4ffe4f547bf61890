import { expect, it, onTestFinished, vi } from 'vitest';
import { textBoard, type Stage } from './board.js';
import { type DemoNode } from './demo-node.js';
import { image } from './image.js';
import { Ledger } from './ledger.js';

const NODES = Array.from({ length: 8 }, (_, n) => ({ name: `node-${n}`, downloads: new Map() }));

/** All that is drawn on a terminal of this size. */
function drawnOn(columns: number, rows: number): string {
  const { isTTY, columns: itsColumns, rows: itsRows } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns, rows });
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => {
    write.mockRestore();
    Object.assign(process.stdout, { isTTY, columns: itsColumns, rows: itsRows });
  });
  const nodes = NODES as unknown as DemoNode[];
  const stage: Stage = { nodes, image: image(40), ledger: new Ledger(), serverUrl: 'http://s' };
  const board = textBoard(stage);
  board.tell('something failed');
  board.end();
  return write.mock.calls.map(([text]) => String(text)).join('');
}

it('bars are drawn on a terminal', () => {
  vi.stubEnv('NO_COLOR', '');
  expect(drawnOn(80, 24)).toContain('░');
});

it.each([
  ['narrow', 40, 24],
  ['low', 80, 9],
])('a terminal that is too %s for bars gets words', (_how, columns, rows) => {
  vi.stubEnv('NO_COLOR', '');
  const text = drawnOn(columns, rows);
  expect(text).toContain('something failed\n');
  for (const drawn of ['░', '\x1b']) expect(text).not.toContain(drawn);
});
