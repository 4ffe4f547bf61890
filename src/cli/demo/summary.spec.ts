import { expect, it } from 'vitest';
import { image } from './image.js';
import { Ledger } from './ledger.js';
import { summary } from './summary.js';

/** Two nodes and three layers; the second node crashes with one layer. */
function result(referencesOfTheDead: number) {
  const layers = image(3);
  const ledger = new Ledger();
  for (const layer of layers) {
    ledger.begin();
    ledger.transfer(layer.bytes);
    ledger.complete('n1', layer);
  }
  ledger.skip('n2', layers[0]!);
  const nodes = [
    { name: 'n1', isDead: false },
    { name: 'n2', isDead: true },
  ];
  const references = new Map([
    ['n1', 3],
    ['n2', referencesOfTheDead],
  ]);
  return { nodes, image: layers, ledger, references, seconds: 1 };
}

it('the server counts what the nodes would have downloaded', () => {
  const text = summary(result(1));
  expect(text).toMatch(/^without Holdfast +4 /m);
  expect(text).toContain('The server counts 4 uses of them. 1.0 s');
});

it('what it counts beyond that is explained', () => {
  const text = summary(result(3));
  expect(text).toMatch(/^without Holdfast +4 /m);
  expect(text).toContain(
    'The server counts 6 uses of them, 2 more than the nodes know of: n2 crashed before it was told. 1.0 s',
  );
});
