import { type Command } from 'commander';
import { integer, serverCommand, type ServerOptions } from '../command.js';
import { checkLocks, type LockRow, lockRows } from '../lock-row.js';
import { note, painter, print, printJson, table } from '../output.js';
import { asking } from '../server-calls.js';
import { duration, since } from '../times.js';

/** What the server gives at once. */
const MAX_LIMIT = 1000;

interface LocksOptions extends ServerOptions {
  readonly type?: string;
  readonly resource?: string;
  readonly node?: string;
  readonly limit: number;
}

export function locksCommand(): Command {
  const examples = [
    'holdfast locks',
    'holdfast locks --type pull --node node-1',
    'holdfast locks --json | jq .locks',
  ];
  return serverCommand('locks', 'List what is held and awaited', examples)
    .option('--type <type>', 'only this operation')
    .option('--resource <prefix>', 'only resources whose id begins like this')
    .option('--node <id>', 'only what this node holds or waits for')
    .option('--limit <count>', 'at most so many resources', integer(1, MAX_LIMIT), 100)
    .action(locks);
}

async function locks({ server, json, type, resource, node, limit }: LocksOptions): Promise<void> {
  const query = { type, resource_id: resource, node_id: node, limit };
  const page = await asking(server, (calls) => calls.get('/locks', query, checkLocks));
  if (json) return printJson(page);
  const rows = lockRows(page);
  if (rows.length === 0) return print('Nothing is held or awaited.');
  print(lockTable(rows));
  if (page['next'] !== undefined)
    note(`There are more: --limit (up to ${MAX_LIMIT}), or choose by --resource.`);
}

function lockTable(rows: readonly LockRow[]): string {
  const head = ['TYPE', 'RESOURCE', 'HOLDER', 'SINCE', 'LEASE LEFT', 'WAITERS'];
  const [first = '', ...rest] = table([head, ...rows.map(cellsOf)]).split('\n');
  return [painter(process.stdout)('bold', first), ...rest].join('\n');
}

function cellsOf(row: LockRow): string[] {
  const { type, resource_id: resource, holder, queue_length: waiters } = row;
  const held = holder ? [holder.node_id, since(holder.acquired_at), leaseLeft(holder)] : ['-', '-', '-'];
  return [type, resource, ...held, String(waiters)];
}

/**
 * The server does not say when a lease was last renewed: from the grant on it lasts at least so long, and once that is
 * over it has been renewed and lasts at most its length.
 */
function leaseLeft(holder: NonNullable<LockRow['holder']>): string {
  const { lease_ms: leaseMs, acquired_at: acquiredAt, session_id: session } = holder;
  if (leaseMs === 0) return session === undefined ? 'for ever' : 'session';
  const leftMs = Date.parse(acquiredAt) + leaseMs - Date.now();
  return leftMs > 0 ? duration(leftMs) : `up to ${duration(leaseMs)}`;
}
