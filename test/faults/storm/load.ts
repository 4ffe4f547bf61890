import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient, type Pace } from '../../linearizability/lock-client.js';
import { type Recorder } from '../../linearizability/recorder.js';
import { type Random } from '../../support/random.js';

/** Many keys with few clients each: a checker's work grows with what overlaps on one resource. */
const TEAMS = 8;
const CLIENTS_PER_TEAM = 3;

/** After so many beginnings a team goes on to another resource. What is under way on the old one is finished there. */
const BEGINNINGS_PER_RESOURCE = 15;

/** Which operations meet on one resource. */
const TYPES = [['build'], ['pull', 'delete'], ['pull'], ['update', 'delete'], ['pull', 'update'], ['build']];

/** Everyone is served in fewer, if everyone is served. With their pauses they outlast every lease and session by far. */
const LAST_ROUNDS = 200;
const LAST_PAUSE_MS = 200;

/** Clients that lock, wait and unlock at any of the servers for as long as they are let. */
export class Load {
  private readonly teams: readonly Team[];

  constructor(recorder: Recorder, random: Random, urls: readonly string[], pace: Pace) {
    this.teams = Array.from({ length: TEAMS }, (_, n) => new Team(n, recorder, random, urls, pace));
  }

  /** Every resource that was asked for, and by which types. */
  get used(): { resource: string; types: readonly string[] }[] {
    return this.teams.flatMap(({ used, types }) => used.map((resource) => ({ resource, types })));
  }

  async run(stopped: () => boolean): Promise<void> {
    await Promise.all(this.clients.map((client) => client.persist(stopped)));
  }

  /** Until nobody holds or awaits anything; whether that came about. */
  async finish(): Promise<boolean> {
    for (let round = 0; round < LAST_ROUNDS; round++) {
      const left = await Promise.all(this.clients.map((client) => client.leave()));
      if (left.every(Boolean)) return true;
      await sleep(LAST_PAUSE_MS);
    }
    return false;
  }

  private get clients(): LockClient[] {
    return this.teams.flatMap(({ clients }) => clients);
  }
}

class Team {
  readonly clients: readonly LockClient[];
  readonly used: string[] = [];
  readonly types: readonly string[];
  private begun = 0;

  constructor(
    private readonly number: number,
    readonly recorder: Recorder,
    readonly random: Random,
    readonly urls: readonly string[],
    readonly pace: Pace,
  ) {
    this.types = TYPES[number % TYPES.length]!;
    this.clients = Array.from(
      { length: CLIENTS_PER_TEAM },
      (_, n) => new LockClient(this, `node-${number}-${n}`, n % 2 === 0),
    );
  }

  /** Looked at when a client begins something new. */
  get resources(): readonly string[] {
    const generation = Math.floor(this.begun++ / BEGINNINGS_PER_RESOURCE);
    const resource = `team-${this.number}-${generation}`;
    if (this.used.at(-1) !== resource) this.used.push(resource);
    return [resource];
  }
}
