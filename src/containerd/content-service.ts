import { type ContentNode, type IngestStatus } from '../content/index.js';
import { type Flights } from './flights.js';
import { type NodeBlobs } from './node/node-blobs.js';
import { type NodeRecord } from './node/node-records.js';
import { ReadAhead } from './read-ahead.js';
import { type ServiceCalls } from './wire/calls.js';
import { checkedDigest } from './wire/checked-digest.js';
import { type Fields, filtered } from './wire/filters.js';
import {
  type Info,
  type Labels,
  type ReadRequest,
  type Status,
  timestamp,
  type UpdateRequest,
} from './wire/messages.js';
import { CODE, invalid, notFound, RpcError } from './grpc/rpc-error.js';
import { WriteStream } from './write-stream.js';

/** As many as containerd's own store sends at once. */
const INFOS_A_MESSAGE = 100;

/** containerd's content service over what this node uses of the shared store. Blobs that only others use are not there. */
export class ContentService implements ServiceCalls {
  private readonly readAhead: ReadAhead;

  constructor(
    private readonly node: ContentNode,
    private readonly blobs: NodeBlobs,
    private readonly flights: Flights,
  ) {
    this.readAhead = new ReadAhead(node.store);
  }

  readonly info = async ({ digest }: { digest: string }) => ({
    info: infoOf(this.blobs.used(checkedDigest(digest))),
  });

  readonly update = async ({ info, update_mask: mask }: UpdateRequest) => {
    const digest = checkedDigest(info?.digest ?? '');
    const paths = mask?.paths ?? [];
    const given = info?.labels ?? {};
    const record = await this.blobs.relabel(digest, (labels) => relabelled(labels, given, paths));
    return { info: infoOf(record) };
  };

  readonly list = async function* (this: ContentService, { filters }: { filters: string[] }) {
    const test = filtered(filters);
    const infos = this.blobs
      .listed()
      .filter((record) => test(fieldsOfRecord(record)))
      .map(infoOf);
    for (let at = 0; at < infos.length; at += INFOS_A_MESSAGE)
      yield { info: infos.slice(at, at + INFOS_A_MESSAGE) };
  }.bind(this);

  readonly delete = async ({ digest }: { digest: string }) => {
    await this.blobs.giveUp(checkedDigest(digest));
    this.readAhead.forget(digest);
    return {};
  };

  readonly read = async function* (this: ContentService, { digest, offset, size }: ReadRequest) {
    const { size: length } = this.blobs.used(checkedDigest(digest));
    let at = Math.max(0, offset);
    if (at > length) throw new RpcError(CODE.outOfRange, `read past object length ${length} bytes`);
    const end = size <= 0 ? length : Math.min(length, at + size);
    while (at < end) {
      const { data, release } = await this.readAhead.read(digest, at, end - at);
      try {
        if (data.length === 0) {
          this.readAhead.forget(digest);
          throw new RpcError(CODE.internal, `${digest} has fewer than ${length} bytes on disk.`);
        }
        yield { offset: at, data };
        at += data.length;
      } finally {
        release();
      }
    }
  }.bind(this);

  readonly status = async ({ ref }: { ref: string }) => {
    const open = this.flights.get(ref)?.status();
    if (open) return { status: open };
    const left = await this.node.store.status(this.node.nodeId, ref);
    if (!left) throw notFound(`ref ${ref}`);
    return { status: statusOf(left) };
  };

  readonly listStatuses = async ({ filters }: { filters: string[] }) => {
    const test = filtered(filters);
    const statuses = new Map<string, Status>();
    for (const left of await this.node.store.statuses(this.node.nodeId))
      statuses.set(left.ref, statusOf(left));
    for (const stream of this.flights.all()) statuses.set(stream.status().ref, stream.status());
    return {
      statuses: [...statuses.values()].filter((status) => test(([name]) => fieldOfStatus(status, name))),
    };
  };

  readonly write = (signal: AbortSignal) => new WriteStream(this.flights, signal);

  /** What is not there is aborted: containerd's collection of garbage must not stop at it. */
  readonly abort = async ({ ref }: { ref: string }) => {
    if (ref === '') throw invalid('A ref is missing.');
    await this.flights.abort(ref);
    return {};
  };
}

function infoOf({ digest, size, createdAtMs, updatedAtMs, labels }: NodeRecord): Info {
  return { digest, size, labels, created_at: timestamp(createdAtMs), updated_at: timestamp(updatedAtMs) };
}

function statusOf({ ref, offset, total = 0, digest = '', startedAtMs, updatedAtMs }: IngestStatus): Status {
  return {
    ref,
    offset,
    total,
    expected: digest,
    started_at: timestamp(startedAtMs),
    updated_at: timestamp(updatedAtMs),
  };
}

function fieldsOfRecord({ digest, size, labels }: NodeRecord): Fields {
  return ([name, ...rest]) => {
    if (name === 'labels') return labelOf(labels, rest.join('.'));
    return name === 'digest' ? digest : name === 'size' ? String(size) : undefined;
  };
}

function fieldOfStatus({ ref }: Status, name: string | undefined): string | undefined {
  return name === 'ref' ? ref : undefined;
}

/** No paths, or `labels`: all are replaced. `labels.<name>`: that one is. An empty value removes a label. */
function relabelled(labels: Labels, given: Labels, paths: readonly string[]): Labels {
  if (paths.length === 0 || paths.includes('labels')) return withoutEmpty(given);
  const changed: Record<string, string> = { ...labels };
  for (const path of paths) {
    if (!path.startsWith('labels.')) throw invalid(`The field ${path} cannot be changed: only labels can.`);
    const name = path.slice('labels.'.length);
    changed[name] = labelOf(given, name) ?? '';
  }
  return withoutEmpty(changed);
}

/** A label may be called `constructor`, as what every object has is. */
function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

function withoutEmpty(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}
