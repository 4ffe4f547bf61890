import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../support/random.js';
import { type ServerProcess } from '../support/server-process.js';
import { type Facts } from './crash-facts.js';

interface Release {
  readonly error: string;
  /** Its place in the order of all releases sent. */
  readonly order: number;
}

type Standing =
  | { readonly is: 'idle' }
  /** Told so, and has asked for nothing else since. */
  | { readonly is: 'waiting'; readonly ticket: string }
  | { readonly is: 'holding'; readonly token: number }
  /** Sent, not answered. */
  | ({ readonly is: 'releasing' } & Release);

/** One resource that many want at once: what each of them was told bounds what the others may be told. */
export class Crowd {
  readonly members: Member[];
  readonly releases: Release[] = [];
  newestToken = 0;
  wrong: string[] = [];

  constructor(
    readonly server: ServerProcess,
    readonly id: string,
    readonly random: Random,
    size: number,
  ) {
    this.members = Array.from({ length: size }, (_, i) => new Member(this, `node-${i}`));
  }

  async work(): Promise<void> {
    await Promise.all(this.members.map((member) => member.work()));
  }

  async check(facts: Facts): Promise<void> {
    for (const member of this.members) await member.checkHold(facts);
    for (const member of this.members) await member.checkRelease(facts);
    for (const member of this.members) await member.checkWait(facts);
  }
}

class Member {
  private standing: Standing = { is: 'idle' };
  /** Releases that had been sent when its wait can have begun: only a later success may skip it. */
  private since: number | undefined;

  constructor(
    private readonly crowd: Crowd,
    private readonly node: string,
  ) {}

  /** Until the server is gone. */
  async work(): Promise<void> {
    try {
      for (;;) {
        if (this.standing.is === 'holding') await this.release();
        else await this.ask(this.crowd.random() < 0.5 ? 50 : 0);
        await sleep(Math.floor(this.crowd.random() * 4));
      }
    } catch (error) {
      // The connection broke: what was under way is not known, and `standing` says what was known before.
      if (error instanceof TypeError) throw error;
    }
  }

  /** Whoever is told that it holds the lock is the only one, and its token the newest. */
  private async ask(waitMs: number): Promise<void> {
    const { crowd, standing } = this;
    const newest = crowd.newestToken;
    this.since ??= crowd.releases.length;
    const ticket = standing.is === 'waiting' ? standing.ticket : undefined;
    const { status, body } = await crowd.server.post('/lock', this.asked({ wait_ms: waitMs, ticket }));
    const complain = (problem: string) =>
      crowd.wrong.push(`${crowd.id} ${this.node} ${problem}: ${JSON.stringify({ standing, body, newest })}`);
    if (status !== 200) return void complain('refused');
    if (body['acquired'] === true) {
      const token = Number(body['token']);
      if (token <= newest) complain('an old token');
      if (crowd.members.some((other) => other !== this && other.standing.is === 'holding'))
        complain('a second hold');
      crowd.newestToken = Math.max(crowd.newestToken, token);
      this.standing = { is: 'holding', token };
      this.since = undefined;
    } else if (body['skip'] === true) {
      if (!crowd.releases.slice(this.since).some(({ error }) => error === ''))
        complain('a skip without a success');
      this.standing = { is: 'idle' };
      // A long poll's skip is spent when it has arrived: a crash in between has it told once more.
      if (waitMs === 0) this.since = undefined;
    } else {
      if (ticket !== undefined && body['ticket'] !== ticket) complain('lost its place');
      this.standing = { is: 'waiting', ticket: String(body['ticket']) };
    }
  }

  private async release(): Promise<void> {
    const { crowd } = this;
    const release = { error: crowd.random() < 0.4 ? '' : 'failed', order: crowd.releases.length };
    crowd.releases.push(release);
    this.standing = { is: 'releasing', ...release };
    const { status, body } = await crowd.server.post('/unlock', this.asked({ error: release.error }));
    if (status !== 200)
      crowd.wrong.push(`${crowd.id} ${this.node} could not release: ${JSON.stringify(body)}`);
    this.standing = { is: 'idle' };
  }

  async checkHold(facts: Facts): Promise<void> {
    if (this.standing.is !== 'holding') return;
    const { token } = this.standing;
    const { crowd, node } = this;
    const path = `/lock/status?type=build&resource_id=${crowd.id}&node_id=${node}`;
    const { body } = await crowd.server.get(path);
    const same = body['acquired'] === true && (body['holder'] as { token: number }).token === token;
    facts.check('holds and tokens', same, () => `${crowd.id} ${node} ${token}: ${JSON.stringify(body)}`);
  }

  /** Done or not, saying it again is answered, unless another has released since. */
  async checkRelease(facts: Facts): Promise<void> {
    if (this.standing.is !== 'releasing') return;
    const { error, order } = this.standing;
    const { crowd, node } = this;
    const { status, body } = await crowd.server.post('/unlock', this.asked({ error }));
    const overtaken = crowd.releases.length > order + 1 && status === 403;
    const told = () =>
      `${crowd.id} ${node} ${JSON.stringify(this.standing)}: ${status} ${JSON.stringify(body)}`;
    facts.check('releases said again', status === 200 || overtaken, told);
    this.standing = { is: 'idle' };
  }

  async checkWait(facts: Facts): Promise<void> {
    if (this.standing.is !== 'waiting') return;
    const { crowd } = this;
    const before = crowd.wrong.length;
    await this.ask(0);
    facts.check('places and tickets', crowd.wrong.length === before, () => crowd.wrong.at(-1) ?? '');
  }

  private asked(more: object): object {
    return { type: 'build', resource_id: this.crowd.id, node_id: this.node, ...more };
  }
}
