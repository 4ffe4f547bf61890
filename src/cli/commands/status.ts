import { type Command } from 'commander';
import { type Json } from '../../client/reply.js';
import { serverCommand, type ServerOptions } from '../command.js';
import { UsageError } from '../failure.js';
import { lockRows } from '../lock-row.js';
import { facts, painter, print, printJson } from '../output.js';
import { asking, type ServerCalls } from '../server-calls.js';
import { since } from '../times.js';

/** Beyond this many resources the counts are only lower bounds. */
const COUNTED = 1000;

interface StatusOptions extends ServerOptions {
  readonly type?: string;
  readonly resource?: string;
}

export function statusCommand(): Command {
  const examples = ['holdfast status', 'holdfast status --type pull --resource sha256:4f4e'];
  return serverCommand('status', 'Show how the server, or one key, stands', examples)
    .option('--type <type>', 'the operation')
    .option('--resource <id>', 'the resource')
    .action(status);
}

async function status({ server, json, type, resource }: StatusOptions): Promise<void> {
  if ((type === undefined) !== (resource === undefined))
    throw new UsageError('A key is --type and --resource together; without both, status is of the server.');
  await asking(server, async (calls) => {
    if (type === undefined || resource === undefined) return ofServer(calls, server, json);
    const key = await calls.get('/lock/status', { type, resource_id: resource });
    if (json) printJson({ type, resource_id: resource, ...key });
    else print(`${painter(process.stdout)('bold', `${type} ${resource}`)}\n${facts(keyFacts(key))}`);
  });
}

async function ofServer(calls: ServerCalls, urls: readonly string[], json = false): Promise<void> {
  await calls.get('/health/ready');
  const page = await calls.get('/locks', { limit: COUNTED });
  const rows = lockRows(page);
  const held = rows.filter((row) => row.held).length;
  const waiting = rows.reduce((sum, row) => sum + row.queue_length, 0);
  const more = page['next'] !== undefined;
  if (json) return printJson({ ready: true, servers: urls, held, waiting, more });
  const count = (value: number) => (more ? `${value} or more` : String(value));
  const title = `${urls.join(', ')} ${painter(process.stdout)('green', 'is ready')}`;
  print(
    `${title}\n${facts([
      ['held', count(held)],
      ['waiting', count(waiting)],
    ])}`,
  );
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
