import { expect, it, vi } from 'vitest';
import { settled } from '../../test/support/simulated-clock.js';
import { Ears } from './ears.js';
import { KeyTurns } from './key-turn.js';
import { Session } from './session.js';

it('what is in any part of a snapshot is as it was; what is in none is asked again', async () => {
  const turns = new KeyTurns();
  const ears = new Ears(turns, vi.fn(), vi.fn());
  const { signal } = new AbortController();
  const woken: string[] = [];
  for (const resource of ['first', 'last', 'gone']) {
    const turn = turns.take(`update:${resource}`)!;
    void turn.heard(signal).then(() => woken.push(resource));
  }
  const part = (resource: string) => ({ waits: [{ type: 'update', resource_id: resource }], holds: [] });
  ears.snapshot(new Session('s', 60_000, '', 0), [part('first'), part('last')]);
  await settled();
  expect(woken).toEqual(['gone']);
});
