import { type Clock, SystemClock } from '../../client/index.js';
import { type ContentNode } from '../../content/index.js';
import { CODE, notFound, RpcError } from '../grpc/rpc-error.js';
import { Claims } from './claims.js';
import { Counting } from './counting.js';
import { type Markers } from './markers.js';
import { type NodeRecord, type NodeRecords } from './node-records.js';
import { isPrompt } from './promptly.js';
import { FATE, removeBytes } from './remove-bytes.js';
import { isUnreachable, type ServerLink } from './server-link.js';
import { Turns } from './turns.js';

/** For the wait for another node that is busy with the blob, the server's answers and the disk's. Who needs longer has a server that hangs. */
const GIVE_UP_MS = 3000;

/** How many records are told to the server at once after it was away. */
const TELLERS = 8;

/** As long as containerd keeps what a pull has begun; it aborts that itself then, unless its node is gone for good. */
const INGEST_LEFT_AFTER_MS = 24 * 60 * 60 * 1000;

export interface NodeBlobsParts {
  readonly node: ContentNode;
  readonly records: NodeRecords;
  readonly markers: Markers;
  readonly link: ServerLink;
  readonly whenUnreachable: 'proceed' | 'fail';
  readonly log: (line: string) => void;
  readonly clock?: Clock;
}

/**
 * What this node uses of the shared store.
 *
 * Promises: a blob that containerd was told is there stays there until containerd gives it up, whoever deletes and whichever
 * process dies at whatever moment. For that its record is on disk before the server can count this node, and goes only when the server
 * counts it no more; what a dead process has left `claimed` or `leaving` is brought to an end by the next.
 */
export class NodeBlobs {
  private readonly claims = new Claims();
  /** What is claimed and the server does not know of, or may have forgotten: it is told when the claim is over. */
  private readonly untold = new Set<string>();
  private readonly turns = new Turns();
  private readonly counting: Counting;
  private readonly clock: Clock;
  private readonly node: ContentNode;
  private readonly records: NodeRecords;

  constructor(private readonly parts: NodeBlobsParts) {
    this.node = parts.node;
    this.records = parts.records;
    this.clock = parts.clock ?? new SystemClock();
    this.counting = new Counting({ ...parts, clock: this.clock });
  }

  used(digest: string): NodeRecord {
    const record = this.records.used(digest);
    if (!record) throw notFound(digest);
    return record;
  }

  /** Also what is on its way out: containerd is to ask for that again. */
  listed(): NodeRecord[] {
    return this.records.all().filter(({ state }) => state !== 'claimed');
  }

  async relabel(
    digest: string,
    change: (labels: NodeRecord['labels']) => NodeRecord['labels'],
  ): Promise<NodeRecord> {
    return this.turns.run(digest, async () => {
      const record = this.used(digest);
      const changed = { ...record, labels: change(record.labels), updatedAtMs: Date.now() };
      await this.records.put(changed);
      return changed;
    });
  }

  /** Before anything is done that may make this node a user. */
  async claim(digest: string): Promise<void> {
    this.claims.begin(digest);
    try {
      await this.turns.run(digest, () => this.recordClaim(digest));
    } catch (error) {
      this.claims.end(digest);
      throw error;
    }
  }

  /** As `claim`, for the time inside containerd's transaction: a delete of the blob that asks the server just now is not waited for. */
  async claimPromptly(digest: string): Promise<void> {
    const claiming = this.claim(digest);
    if (await isPrompt(this.clock, claiming)) return claiming;
    void claiming.then(() => this.unclaim(digest)).catch(() => undefined);
    throw new RpcError(CODE.unavailable, `${digest} is being given up by this node: try again.`);
  }

  private async recordClaim(digest: string): Promise<void> {
    const record = this.records.get(digest);
    if (record && record.state !== 'leaving') return;
    const now = Date.now();
    const fresh = { digest, size: 0, createdAtMs: now, updatedAtMs: now, labels: {} };
    await this.records.put({ ...fresh, ...record, state: 'claimed' });
  }

  /** The claim is over. Unless it was settled, whatever the server has counted is taken back. */
  async unclaim(digest: string): Promise<void> {
    this.claims.end(digest);
    await this.leaveUnsettled(digest).catch(() => undefined);
    if (!this.claims.has(digest) && this.untold.delete(digest)) await this.tellLater(digest);
  }

  /** The blob is there and this node is counted or marked: containerd may be told. `how` it came to be there, for people. */
  async settle(digest: string, size: number, labels: NodeRecord['labels'], how: string): Promise<void> {
    await this.turns.run(digest, async () => {
      const now = Date.now();
      const known = this.records.used(digest);
      const createdAtMs = known?.createdAtMs ?? now;
      const merged = { ...known?.labels, ...labels };
      await this.records.put({ digest, state: 'used', size, createdAtMs, updatedAtMs: now, labels: merged });
    });
    this.parts.log(`${digest} ${how}, ${size} bytes.`);
  }

  /** Counts this node in, or marks the blob where that is allowed. Then look for the bytes. */
  async count(digest: string): Promise<void> {
    if (!(await this.counting.count(digest))) this.untold.add(digest);
  }

  /** As `count`, for the time inside containerd's transaction. */
  async countPromptly(digest: string): Promise<void> {
    if (!(await this.counting.countPromptly(digest))) this.untold.add(digest);
  }

  /** Whether a pull goes on although this went wrong. */
  mayProceed(error: unknown): boolean {
    return this.counting.mayProceed(error);
  }

  /**
   * containerd has given it up. Throws UNAVAILABLE where the server cannot be asked, or takes too long; the blob stays listed then, and
   * containerd asks again. What takes too long goes on only if the blob is not there for containerd any more.
   */
  async giveUp(digest: string): Promise<void> {
    const record = this.records.get(digest);
    if (!record || record.state === 'claimed') throw notFound(digest);
    const given = this.turns.run(digest, () => this.giveUpNow(digest));
    if ((await isPrompt(this.clock, given, GIVE_UP_MS)) || this.records.used(digest)) return given;
    given.catch((error: Error) => this.parts.log(`${digest} is to be left later: ${error.message}`));
    throw new RpcError(CODE.unavailable, `Holdfast has not answered in time: ${digest} is left later.`);
  }

  /** After the server was away, and at the start: it is told all that this node uses, and what was left is brought to an end. */
  async reconcile(): Promise<void> {
    const waiting = this.records.all();
    const work = async () => {
      for (let record = waiting.pop(); record; record = waiting.pop()) await this.reconcileOne(record);
    };
    await Promise.all(Array.from({ length: TELLERS }, work));
    for (const digest of await this.parts.markers.own()) {
      await this.turns.run(digest, () => this.clearUnused(digest));
    }
    await this.removeLeftIngests();
  }

  /** Of any node: one that is gone for good clears nothing away. Nobody waits for this, so that nothing fails with it. */
  private async removeLeftIngests(): Promise<void> {
    try {
      const refs = await this.node.removeLeftIngests(INGEST_LEFT_AFTER_MS);
      if (refs.length > 0)
        this.parts.log(`Removed ${refs.length} downloads that were left more than a day ago.`);
    } catch (error) {
      this.parts.log(`Downloads that were left long ago were not removed: ${(error as Error).message}`);
    }
  }

  /** In its turn: a write that claims the blob meanwhile sets its marker after it. */
  private async clearUnused(digest: string): Promise<void> {
    if (!this.claims.has(digest) && !this.records.used(digest)) await this.parts.markers.clear(digest);
  }

  /** Counted first, then looked for: before, a delete that is about to find this node's marker may have it aside. */
  private async reconcileOne({ digest, state }: NodeRecord): Promise<void> {
    if (this.claims.has(digest)) return void this.untold.add(digest);
    if (state !== 'used') return this.leaveUnsettled(digest);
    await this.turns.run(digest, async () => {
      const record = this.records.used(digest);
      if (!record) return;
      await this.counting.count(digest);
      if (await this.node.store.info(digest)) return;
      this.parts.log(`${digest} is used by this node and is not in the store: pull it again.`);
      await this.leave(record);
    });
  }

  /** Its marker, or the reference the server has not forgotten, keeps the blob until then. What cannot be told now is told with all else. */
  private async tellLater(digest: string): Promise<void> {
    const record = this.records.used(digest);
    if (!record) return;
    try {
      await this.reconcileOne(record);
    } catch (error) {
      this.parts.log(`${digest} is to be counted later: ${(error as Error).message}`);
    }
  }

  /** Whoever relies on it keeps it, and leaves it at the end. */
  private async giveUpNow(digest: string): Promise<void> {
    const record = this.records.get(digest);
    if (!record) return;
    if (!this.claims.has(digest)) return this.leave(record);
    if (record.state !== 'claimed') await this.records.putIfPossible({ ...record, state: 'claimed' });
  }

  /**
   * What it is and who relies on it is looked at when it is its turn: another write may be about to settle it, or a delete to
   * take it back. One that cannot be left now stays counted, which hurts nobody. Throws only if the server cannot be reached.
   */
  private async leaveUnsettled(digest: string): Promise<void> {
    try {
      await this.turns.run(digest, async () => {
        const record = this.records.get(digest);
        if (record && record.state !== 'used' && !this.claims.has(digest)) await this.leave(record);
      });
    } catch (error) {
      this.parts.log(`${digest} is to be left later: ${(error as Error).message}`);
      if (isUnreachable(error)) throw error;
    }
  }

  private async leave(record: NodeRecord): Promise<void> {
    const { digest } = record;
    if (record.state !== 'leaving') await this.records.putIfPossible({ ...record, state: 'leaving' });
    await this.parts.link.call(() => this.node.release(digest));
    await this.parts.markers.clear(digest);
    const bytes = await this.parts.link.call(() => removeBytes(this.node, digest));
    if (bytes !== 'busy') await this.records.remove(digest);
    this.parts.log(`${digest} is not used by this node any more; its bytes ${FATE[bytes]}.`);
  }
}
