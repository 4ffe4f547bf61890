import { type Command } from 'commander';
import { readStatus } from '../../client/answers.js';
import { type Json } from '../../client/reply.js';
import { serverCommand, type ServerOptions } from '../command.js';
import { FIND_A_SERVER, NotReadyError, UsageError } from '../failure.js';
import { checkLocks, lockRows } from '../lock-row.js';
import { facts, legible, painter, print, printJson } from '../output.js';
import { asking } from '../server-calls.js';
import { serverState, type ServerState } from '../server-state.js';
import { since } from '../times.js';

/** Beyond this many resources the counts are only lower bounds. */
const COUNTED = 1000;

interface StatusOptions extends ServerOptions {
  readonly type?: string;
  readonly resource?: string;
}

export function statusCommand(): Command {
  const examples = ['holdfast status', 'holdfast status --type pull --resource sha256:4f4e'];
  return serverCommand('status', 'Show how each server, or one key, stands', examples)
    .option('--type <type>', 'the operation')
    .option('--resource <id>', 'the resource')
    .addHelpText('after', '\nOf several servers it is enough that one is ready. Exits with 69 when none is.')
    .action(status);
}

async function status({ server, json, type, resource }: StatusOptions): Promise<void> {
  if ((type === undefined) !== (resource === undefined))
    throw new UsageError('A key is --type and --resource together; without both, status is of the server.');
  if (type === undefined || resource === undefined) return ofServers(server, json);
  const query = { type, resource_id: resource };
  const key = await asking(server, (calls) => calls.get('/lock/status', query, readStatus));
  if (json) printJson({ type, resource_id: resource, ...key });
  else print(`${painter(process.stdout)('bold', legible(`${type} ${resource}`))}\n${facts(keyFacts(key))}`);
}

/** Servers that are named together share what they hold: one that is ready is asked for all. */
async function ofServers(urls: readonly string[], json = false): Promise<void> {
  const servers = await Promise.all(urls.map(serverState));
  const ready = servers.filter((state) => state.ready).map(({ url }) => url);
  if (ready.length === 0) throw noneReady(servers);
  const page = await asking(ready, (calls) => calls.get('/locks', { limit: COUNTED }, checkLocks));
  const rows = lockRows(page);
  const held = rows.filter((row) => row.held).length;
  const waiting = rows.reduce((sum, row) => sum + row.queue_length, 0);
  const more = page['next'] !== undefined;
  if (json) return printJson({ ready: true, servers, held, waiting, more });
  const count = (value: number) => (more ? `${value} or more` : String(value));
  for (const state of servers) print(stateLine(state));
  print(
    facts([
      ['held', count(held)],
      ['waiting', count(waiting)],
    ]),
  );
}

function stateLine({ url, ready, message }: ServerState): string {
  return `${url} ${painter(process.stdout)(ready ? 'green' : 'red', legible(message))}`;
}

/** The code is that of a Holdfast, where there is one. */
function noneReady(servers: readonly ServerState[]): NotReadyError {
  const holdfast = servers.find(({ code }) => code === 'NOT_READY');
  const { code = 'NOT_READY' } = holdfast ?? servers[0]!;
  const lines = servers.map(({ url, message }) => `${url} ${message}`);
  if (!holdfast) lines.push(FIND_A_SERVER);
  return new NotReadyError(code, lines.join('\n'), { ready: false, servers });
}

function keyFacts(key: Json): [string, string][] {
  const { reference_count: references, queue_length: waiting } = key;
  return [
    ['state', stateOf(key)],
    ['waiting', String(waiting)],
    ['references', references === null ? 'not counted by the server' : String(references)],
  ];
}

function stateOf(key: Json): string {
  const holder = key['holder'] as { node_id: string; acquired_at: string; token: number } | undefined;
  if (holder) return `held by ${holder.node_id} for ${since(holder.acquired_at)} (token ${holder.token})`;
  if (key['completed'] !== true) return 'free';
  const when = `${since(String(key['completed_at']))} ago`;
  return key['success'] === true ? `free; done ${when}` : `free; failed ${when}: ${String(key['error'])}`;
}
