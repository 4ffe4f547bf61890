import { setTimeout as delay } from 'node:timers/promises';
import { type Etcd3, type IEvent, type IWatchResponse } from 'etcd3';
import { decodeExact } from '../exact-utf8.js';
import { Silence } from '../silence.js';
import { type Change, type Cursor, type WatchObserver } from '../state-store.interface.js';
import { etcdError } from './etcd-faults.js';
import { type EtcdKeys } from './etcd-keys.js';
import { assertUnchanged, type Marker } from './etcd-marker.js';
import { type EtcdMembers } from './etcd-members.js';

/** How often a watch makes sure that the member it listens to is alive and part of the cluster. */
const HEARTBEAT_MS = 1000;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

type Stream = Awaited<ReturnType<Etcd3['watchClient']['watch']>>;

/**
 * Follows every change behind the cursor, and goes on behind the last one shown at another member whenever one fails.
 *
 * Not etcd3's own watcher: that one takes the revision of the answer "created" for seen, and would skip what a broken
 * connection kept back. And because a member that is cut off from the cluster, or stopped, just stays silent, the
 * member is asked for a linearizable read every second beside the stream.
 */
export class EtcdWatch {
  private over = false;
  private readonly silence: Silence;
  private retryMs = FIRST_RETRY_MS;
  private stream: Stream | undefined;

  constructor(
    private readonly members: EtcdMembers,
    private readonly keys: EtcdKeys,
    private readonly marker: Marker,
    private cursor: Cursor,
    private readonly observer: WatchObserver,
  ) {
    this.silence = new Silence(observer);
  }

  stop(): void {
    this.over = true;
    this.stream?.cancel();
  }

  async run(): Promise<void> {
    while (!this.over) {
      const { client } = this.members;
      try {
        await this.check(client);
        await this.follow(client);
      } catch (error) {
        if (!this.over) this.silence.begin(etcdError('watch', error));
        this.members.failed(client);
        await delay(this.retryMs, undefined, { ref: false });
        this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
      }
    }
  }

  /** A cluster that is behind what was shown was restored from a backup; one with another marker is another state. */
  private async check(client: Etcd3): Promise<void> {
    // The stream goes on while the answer is on its way.
    const { cursor } = this;
    const { kvs, header } = await client.kv.range({ key: this.keys.marker }, this.members.deadline());
    try {
      assertUnchanged('watch', this.marker, kvs[0]);
    } catch {
      return this.compacted();
    }
    if (Number(header.revision) + this.marker.base < cursor) this.compacted();
  }

  private async follow(client: Etcd3): Promise<void> {
    const next = this.cursor - this.marker.base + 1;
    if (next <= 0) this.compacted();
    if (this.over) return;
    const stream = await client.watchClient.watch();
    this.stream = stream;
    const ended = new Promise<never>((_resolve, reject) => {
      stream.on('error', reject);
      stream.on('end', () => reject(new Error('the watch ended')));
      stream.on('data', (response) => {
        try {
          this.receive(response);
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    try {
      stream.write({ create_request: { ...this.keys.beginningWith(''), start_revision: next } });
      await Promise.race([ended, this.heartbeat(client)]);
    } finally {
      ended.catch(() => undefined);
      stream.cancel();
    }
  }

  private async heartbeat(client: Etcd3): Promise<void> {
    while (!this.over) {
      await delay(HEARTBEAT_MS, undefined, { ref: false });
      if (!this.over) await this.check(client);
      // A heartbeat after the stream was opened again what was kept back has long been sent.
      if (!this.over) this.silence.end();
    }
  }

  private receive({ canceled, compact_revision, cancel_reason, events }: IWatchResponse): void {
    if (this.over) return;
    if (canceled && compact_revision !== '0') return this.compacted();
    if (canceled) throw new Error(`etcd ended the watch: ${cancel_reason}`);
    this.retryMs = FIRST_RETRY_MS;
    for (const commit of commitsOf(events)) {
      if (this.over) return;
      const changes = commit.map((event) => this.changeOf(event));
      this.cursor = changes[0]!.revision;
      this.observer.committed(changes);
    }
  }

  private changeOf({ type, kv }: IEvent): Change {
    const isDeletion = type.toUpperCase() === 'DELETE';
    return {
      key: this.keys.nameOf(kv.key),
      revision: Number(kv.mod_revision) + this.marker.base,
      value: isDeletion ? undefined : decodeExact(kv.value, 0, kv.value.length),
    };
  }

  private compacted(): void {
    if (this.over) return;
    this.stop();
    this.observer.compacted();
  }
}

/** Changes of one transaction share a revision; etcd does not split them unless asked to. */
function commitsOf(events: readonly IEvent[]): IEvent[][] {
  const commits: IEvent[][] = [];
  for (const event of events) {
    const commit = commits.at(-1);
    if (commit?.[0]!.kv.mod_revision === event.kv.mod_revision) commit.push(event);
    else commits.push([event]);
  }
  return commits;
}
