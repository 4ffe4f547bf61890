import { describe, expect, it } from 'vitest';
import { type Skip, skippable } from './contract-runner.js';

const skipping = (reason: string) => skippable(async (skip) => skip(reason));

describe('skippable', () => {
  it('skips in the context that the runner gives a test', async () => {
    class Context {
      readonly #said: string[] = [];
      readonly said = this.#said;
      skip(reason: string): void {
        this.#said.push(reason);
      }
    }
    const context = new Context();
    const run: (context: { skip: Skip }) => Promise<void> = skipping('no reopen');
    await run(context);
    expect(context.said).toEqual(['no reopen']);
  });

  it('passes where the runner gives none', async () => {
    await expect(skipping('no reopen')()).resolves.toBeUndefined();
  });

  it('has no parameter that a runner could take for a callback or for fixtures', () => {
    expect(skipping('').length).toBe(0);
  });
});
