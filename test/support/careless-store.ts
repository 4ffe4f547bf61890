import { setImmediate as turn } from 'node:timers/promises';
import { type CommitOutcome, type StateStore, type Write } from '../../src/stores/state-store.interface.js';
import { type Random } from './random.js';
import { WrappedStore } from './wrapped-store.js';

/** Enough for the commands of another instance to come in between. */
const MAX_TURNS = 4;

/**
 * A connection to a store that several servers share. Commits take a while to get there; a careless one does not compare
 * what it finds with what its writer expected, and so loses what others wrote in the meantime.
 */
export class CarelessStore extends WrappedStore {
  constructor(
    inner: StateStore,
    private readonly random: Random,
    private readonly compares: boolean,
  ) {
    super(inner);
  }

  override async close(): Promise<void> {
    // The others go on with it.
  }

  override async commit(partition: number, writes: readonly Write[]): Promise<CommitOutcome> {
    for (let turns = Math.floor(this.random() * MAX_TURNS); turns > 0; turns--) await turn();
    if (this.compares) return this.inner.commit(partition, writes);
    const found = await this.inner.get(
      partition,
      writes.map(({ key }) => key),
    );
    const forced = writes.flatMap((write, index) => forcedOn(write, found[index]?.revision));
    return this.inner.commit(partition, forced);
  }
}

/** The write as it would have to be to apply now; none if it deletes what is not there. */
function forcedOn(write: Write, revision: number | undefined): Write[] {
  if ('put' in write) return [{ ...write, expect: revision ?? 'absent' }];
  return revision === undefined ? [] : [{ ...write, expect: revision }];
}
