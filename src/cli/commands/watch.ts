import { type Command } from 'commander';
import { type Json } from '../../client/reply.js';
import { serverCommand, type ServerOptions } from '../command.js';
import { type FeedEvent, followEvents } from '../event-feed.js';
import { type LockRow, lockRows } from '../lock-row.js';
import { legible, note, painter, print, printJson } from '../output.js';

interface WatchOptions extends ServerOptions {
  readonly type?: string;
  readonly resource?: string;
}

/** The longest name of an event. */
const NAME_WIDTH = 'unreferenced'.length;

const STYLES: Readonly<Record<string, Parameters<ReturnType<typeof painter>>[0]>> = {
  granted: 'cyan',
  assigned: 'cyan',
  held: 'cyan',
  completed: 'green',
  failed: 'red',
  expired: 'red',
  released: 'yellow',
};

export function watchCommand(): Command {
  const examples = [
    'holdfast watch',
    'holdfast watch --resource sha256:',
    'holdfast watch --json | jq -c .event',
  ];
  return serverCommand('watch', 'Follow everything that happens, until it is interrupted', examples)
    .option('--type <type>', 'only this operation')
    .option('--resource <prefix>', 'only resources whose id begins like this')
    .action(watch);
}

async function watch(options: WatchOptions): Promise<void> {
  const onCut = (why: string) => note(`The connection is gone (${why}); trying again …`);
  for await (const event of followEvents(options.server, onCut)) {
    if (event.name === 'snapshot') showSnapshot(event.data, options);
    else if (isWanted(event.data, options)) show(event, options);
  }
}

function showSnapshot(snapshot: Json, options: WatchOptions): void {
  const rows = lockRows(snapshot).filter((row) => isWanted(row, options));
  if (options.json) return printJson({ event: 'snapshot', locks: rows, more: snapshot['more'] });
  for (const row of rows) print(rowLine(row));
  if (snapshot['more'] === false) note(`Watching ${options.server.join(', ')}; Ctrl-C ends it.`);
}

function show({ name, id, data }: FeedEvent, { json }: WatchOptions): void {
  if (json) printJson({ event: name, id, ...data });
  else print(eventLine(name, data));
}

function isWanted(about: object, { type, resource = '' }: WatchOptions): boolean {
  const { type: itsType, resource_id: itsResource } = about as { type?: string; resource_id?: string };
  return (type === undefined || itsType === type) && String(itsResource).startsWith(resource);
}

function rowLine({ type, resource_id: resource, holder, queue_length: waiting }: LockRow): string {
  const by = holder ? `by ${holder.node_id}` : 'by nobody';
  return line(holder?.acquired_at, 'held', `${type} ${resource}`, `${by}, ${waiting} waiting`);
}

function eventLine(name: string, data: Json): string {
  const { type = '', resource_id: resource, node_id: node, error, token, dismissed } = data;
  const details = [
    String(node),
    ...(token === undefined ? [] : [`token ${String(token)}`]),
    ...(dismissed === undefined ? [] : [`${String(dismissed)} sent away`]),
    ...(error === '' || error === undefined ? [] : [String(error)]),
  ];
  return line(data['completed_at'], name, `${String(type)} ${String(resource)}`.trim(), details.join(', '));
}

function line(at: unknown, name: string, key: string, details: string): string {
  const paint = painter(process.stdout);
  const time = typeof at === 'string' ? new Date(at).toTimeString().slice(0, 8) : ' '.repeat(8);
  const style = STYLES[name];
  const shown = legible(name).padEnd(NAME_WIDTH);
  return `${paint('dim', time)}  ${style ? paint(style, shown) : shown}  ${legible(key)}  ${legible(details)}`;
}
