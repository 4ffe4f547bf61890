import * as fc from 'fast-check';
import { describe, it } from 'vitest';
import { askerKey, sameAsker } from '../../src/core/chunked-list.js';
import { change, TwoLists } from './core-chunked-list.model.js';

describe('a list in chunks', () => {
  it('is the same list as a plain array, whatever is done to it', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const lists = new TwoLists();
        for (const one of changes) {
          lists.apply(one);
          lists.verify();
        }
      }),
      { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100) },
    );
  });

  it('tells any two askers apart by their keys exactly if they are two', () => {
    const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 3 });
    const asker = fc.record({ nodeId: name, sessionId: fc.option(name, { nil: undefined }) });
    fc.assert(fc.property(asker, asker, (a, b) => sameAsker(a, b) === (askerKey(a) === askerKey(b))));
  });
});
