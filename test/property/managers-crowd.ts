import { type Asker } from '../../src/core/chunked-list.js';
import { type Command } from '../../src/core/commands.js';
import { type Moment } from '../../src/core/moment.js';
import { type Result } from '../../src/core/results.js';
import { pick, type Random } from '../support/random.js';
import { type ManagerSystem } from './managers-systems.js';

export const RESOURCES = ['layer', 'other'];
export const TYPES = ['pull', 'pull', 'update', 'delete', 'scan'];
const NODES = ['a', 'b', 'c', 'd', 'e'];

/** With names like these a queue of three has outgrown the head of its record. */
const LONG_NAME = '長'.repeat(250);

const SESSIONS = ['s1', 's2'];

/** What a client was told, in the order of the answers. */
export interface Answer {
  readonly resourceId: string;
  readonly asker: Asker;
  readonly command: Command;
  readonly result: Result;
}

interface Known {
  token?: number;
  ticket?: Moment;
}

/** Many clients that ask at once, at any manager, and repeat what was not answered. */
export class Crowd {
  readonly answers: Answer[] = [];
  /** Requests without an answer yet. */
  open = 0;
  private readonly known = new Map<string, Known>();
  private readonly nodes: readonly string[];

  constructor(
    private readonly system: ManagerSystem,
    private readonly random: Random,
  ) {
    const end = pick(random, ['', LONG_NAME]);
    this.nodes = NODES.map((name) => name + end);
  }

  burst(size: number): void {
    for (let i = 0; i < size; i++) {
      const resourceId = pick(this.random, RESOURCES);
      const asker = this.someAsker();
      void this.ask(resourceId, asker, this.someCommand(resourceId, asker), 5);
    }
  }

  /** Asks until there is an answer that arrives. A manager that dies answers nobody. */
  async ask(resourceId: string, asker: Asker, command: Command, tries: number): Promise<void> {
    this.open++;
    try {
      const result = await this.system.execute(Math.floor(this.random() * 2), resourceId, command);
      if (this.random() > 0.15) this.hear({ resourceId, asker, command, result });
      else if (tries > 0) void this.ask(resourceId, asker, command, tries - 1);
    } catch {
      if (tries > 0) void this.ask(resourceId, asker, command, tries - 1);
    } finally {
      this.open--;
    }
  }

  private hear(answer: Answer): void {
    this.answers.push(answer);
    const { command, result } = answer;
    if (!('type' in command)) return;
    const known = this.knownTo(answer.resourceId, command.type, answer.asker);
    if (result.kind === 'acquired') known.token = result.token;
    if (result.kind === 'queued') known.ticket = result.ticket;
    if (command.kind === 'release') delete known.token;
  }

  private someCommand(resourceId: string, asker: Asker): Command {
    const { random } = this;
    const type = pick(random, TYPES);
    const { token, ticket } = this.knownTo(resourceId, type, asker);
    const leaseMs = pick(random, [undefined, undefined, 900]);
    const ending = random();
    if (token !== undefined && ending < 0.5) {
      const outcome = pick(random, [SUCCESS, SUCCESS, FAILURE, FATAL]);
      return { kind: 'release', type, asker, token: pick(random, [token, undefined]), ...outcome };
    }
    if (token !== undefined && ending < 0.7) return { kind: 'renew', type, asker, token };
    if (token !== undefined && ending < 0.75) {
      return { kind: 'force-release', type, token, reason: 'by hand' };
    }
    const dice = random();
    if (dice < 0.08) return { kind: 'withdraw', type, asker, ticket, error: 'cancelled' };
    if (dice < 0.14) return { kind: 'claim', type, asker };
    if (dice < 0.17) return { kind: 'add-reference', nodeId: asker.nodeId };
    if (dice < 0.2) return { kind: 'release-reference', nodeId: asker.nodeId };
    if (dice < 0.22) return { kind: 'end-session', type, asker, error: 'session over' };
    const absent = pick(random, [undefined, undefined, undefined, true]);
    return { kind: 'acquire', type, asker, ticket: pick(random, [ticket, undefined]), leaseMs, absent };
  }

  private someAsker(): Asker {
    const nodeId = pick(this.random, this.nodes);
    return nodeId === this.nodes.at(-1) ? { nodeId, sessionId: pick(this.random, SESSIONS) } : { nodeId };
  }

  private knownTo(resourceId: string, type: string, { nodeId, sessionId }: Asker): Known {
    const name = [resourceId, type, nodeId, sessionId].join(' ');
    const known = this.known.get(name) ?? {};
    this.known.set(name, known);
    return known;
  }

  /** Everyone leaves: sessions end, and references are released. What is held or awaited ends by silence. */
  async leave(): Promise<void> {
    for (const resourceId of RESOURCES) {
      for (const sessionId of SESSIONS) {
        const asker = { nodeId: this.nodes.at(-1)!, sessionId };
        for (const type of new Set(TYPES)) {
          await this.ask(resourceId, asker, { kind: 'end-session', type, asker, error: 'over' }, 0);
        }
      }
    }
  }

  async releaseReferences(): Promise<void> {
    for (const resourceId of RESOURCES) {
      for (const nodeId of this.nodes) {
        await this.ask(resourceId, { nodeId }, { kind: 'release-reference', nodeId }, 0);
      }
    }
  }
}

const SUCCESS = { success: true, error: '', fatal: false };
const FAILURE = { success: false, error: 'boom', fatal: false };
const FATAL = { success: false, error: 'not found', fatal: true };
