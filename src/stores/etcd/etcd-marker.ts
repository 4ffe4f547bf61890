import { randomUUID } from 'node:crypto';
import { CompareResult, CompareTarget, type ICompare, type IKeyValue } from 'etcd3';
import { type Clock } from '../../common/clock.interface.js';
import { StoreError } from '../store.error.js';
import { type EtcdKeys } from './etcd-keys.js';
import { type EtcdMembers } from './etcd-members.js';

/** How items are laid out. A version that changes it refuses what an older one wrote. */
const FORMAT = 1;

/** As in the other stores: room for this many revisions in a millisecond. */
const REVISIONS_PER_MS = 1000;

/**
 * What is stored once for all instances. A revision of ours is etcd's plus `base`, the microseconds of the wall clock when the
 * state was created: so tokens go on above those of an engine used before, and of an etcd that was wiped.
 */
export interface Marker {
  readonly base: number;
  /** All of it, as stored; it has an id of its own: who finds another has lost the state it knew. */
  readonly text: Buffer;
}

/** Reads the marker, or writes it where there is nothing yet. */
export async function openMarker(members: EtcdMembers, keys: EtcdKeys, clock: Clock): Promise<Marker> {
  const base = clock.wallMs() * REVISIONS_PER_MS;
  const text = Buffer.from(JSON.stringify({ format: FORMAT, base, id: randomUUID() }));
  const { succeeded, responses } = await members.write((client, options) =>
    client.kv.txn(
      {
        compare: [isEmpty({ key: keys.marker }), isEmpty(keys.beginningWith(''))],
        success: [{ request_put: { key: keys.marker, value: text } }],
        failure: [{ request_range: { key: keys.marker } }],
      },
      options,
    ),
  );
  if (succeeded) return { base, text };
  return parseMarker(responses[0]!.response_range.kvs[0]);
}

/** Holds while the state is the one that was opened. */
export function isUnchanged(keys: EtcdKeys, { text }: Marker): ICompare {
  return { key: keys.marker, target: CompareTarget.Value, result: CompareResult.Equal, value: text };
}

export function assertUnchanged(operation: string, marker: Marker, found: IKeyValue | undefined): void {
  if (found?.value.equals(marker.text)) return;
  throw new StoreError(
    'STORE_UNREADABLE',
    operation,
    'The state in etcd is not the one this process opened: it was deleted or replaced. Nothing was changed. Restart Holdfast.',
  );
}

function parseMarker(found: IKeyValue | undefined): Marker {
  if (!found) throw unreadable('has items but does not say how they were written');
  const { format, base } = JSON.parse(found.value.toString()) as Partial<Record<'format' | 'base', number>>;
  if (format !== FORMAT || base === undefined)
    throw unreadable(`has format ${format}, this version ${FORMAT}`);
  return { base, text: found.value };
}

function unreadable(what: string): StoreError {
  return new StoreError(
    'STORE_UNREADABLE',
    'open',
    `The state in etcd ${what}. Nothing was changed. Run the version that wrote it, or choose another KEY_PREFIX.`,
  );
}

function isEmpty(range: Pick<ICompare, 'key'> & { range_end?: Buffer }): ICompare {
  return { ...range, target: CompareTarget.Create, result: CompareResult.Equal, create_revision: 0 };
}
