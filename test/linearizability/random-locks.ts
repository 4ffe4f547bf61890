import { pick, type Random } from '../support/random.js';
import { answer } from './lock-answers.js';
import { type LockInput, type LockOperation } from './lock-operations.js';
import { EMPTY } from './lock-state.js';

export interface Wishes {
  readonly operations: number;
  readonly clients: number;
  /** How many of the operations nobody hears of; half of them happen. */
  readonly unknown: number;
  readonly types: readonly string[];
}

interface Client {
  readonly name: string;
  readonly session: string | undefined;
  token: number | undefined;
  /** By type: another key's would be bad input. */
  readonly tickets: Map<string, string>;
}

/** A history that happened: operations one after the other, each seen by its client as an interval around its moment. */
export function randomHistory(random: Random, wishes: Wishes): LockOperation[] {
  const clients = Array.from({ length: wishes.clients }, (_, i) => newClient(i));
  const history: LockOperation[] = [];
  let state = EMPTY;
  for (let moment = 1; moment <= wishes.operations; moment++) {
    const client = pick(random, clients);
    const input = anyInput(random, client, wishes.types);
    const call = moment - random() * random() * clients.length;
    const end = moment + random() * random() * clients.length;
    const unknown = random() < wishes.unknown;
    if (!unknown || random() < 0.5) {
      const { state: next, output } = answer(state, input, {
        token: 10 * moment,
        ticket: `${10 * moment}.0`,
      });
      state = next;
      if (!unknown) {
        if ('token' in output) client.token = output.token;
        if (input.do === 'lock' && output.is === 'queued') client.tickets.set(input.type, output.ticket!);
        history.push({ client: client.name, call, return: end, input, output });
      }
    }
    if (unknown) history.push({ client: client.name, call, return: random() < 0.5 ? end : undefined, input });
  }
  return history;
}

/** Two of the same node have sessions, so that they are two askers. */
function newClient(index: number): Client {
  const session = index === 1 || index === 2 ? `s${index}` : undefined;
  return { name: `c${index}`, session, token: undefined, tickets: new Map() };
}

function anyInput(random: Random, client: Client, types: readonly string[]): LockInput {
  const { session } = client;
  const node = session === undefined ? client.name : 'shared';
  const type = pick(random, types);
  const on = { resource: 'r', type, node, session };
  const token = random() < 0.6 ? client.token : undefined;
  const ticket = random() < 0.5 ? client.tickets.get(type) : undefined;
  const chance = random();
  if (chance < 0.42) return { do: 'lock', ...on, ticket, absent: random() < 0.2 ? true : undefined };
  if (chance < 0.7) {
    const success = random() < 0.4;
    const error = success ? '' : 'failed';
    return { do: 'unlock', ...on, token, success, error, fatal: !success && random() < 0.3 };
  }
  if (chance < 0.76) return { do: 'renew', ...on, token };
  if (chance < 0.84) return { do: 'status', ...on, ticket };
  if (chance < 0.88) return { do: 'cancel', ...on };
  if (chance < 0.9) return { do: 'end', ...on };
  if (chance < 0.93) return { do: 'references', resource: 'r' };
  return { do: random() < 0.5 ? 'add-reference' : 'release-reference', resource: 'r', node };
}
