import { createInterface } from 'node:readline/promises';
import { type Command } from 'commander';
import { readStatus, readUnlock } from '../../client/answers.js';
import { integer, type KeyOptions, serverCommand, type ServerOptions, withKey } from '../command.js';
import { UsageError } from '../failure.js';
import { legible, print, printJson } from '../output.js';
import { asking } from '../server-calls.js';
import { since } from '../times.js';

interface ReleaseOptions extends ServerOptions, KeyOptions {
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly reason: string;
  readonly token?: number;
}

interface Holder {
  readonly node_id: string;
  readonly acquired_at: string;
  readonly token: number;
}

/** What was to be taken away is not there; the codes are the server's. */
class NothingTaken extends Error {
  override readonly name = 'NothingTaken';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export function releaseCommand(): Command {
  const examples = [
    'holdfast release --type pull --resource sha256:4f4e --force',
    'holdfast release --type pull --resource sha256:4f4e --force --yes --reason "node-1 is gone"',
  ];
  return withKey(
    serverCommand('release', 'Take a lock away from its holder: the next in line is served', examples),
  )
    .option('--force', 'whoever holds it is not asked, and may still be working (required)')
    .option('--yes', 'do not ask for confirmation; needed where nobody can be asked')
    .option(
      '--reason <text>',
      'told to the holder and to whoever follows the events, and logged',
      'released by hand',
    )
    .option('--token <number>', 'only the hold with this token', integer(1, Number.MAX_SAFE_INTEGER))
    .action(release);
}

async function release(options: ReleaseOptions): Promise<void> {
  const { server, json, type, resource, reason, yes } = options;
  if (!options.force) throw new UsageError('A lock is taken from its holder only with --force.');
  if (!yes && !process.stdin.isTTY)
    throw new UsageError('Nobody can be asked for confirmation here: say --yes to take the lock away.');
  await asking(server, async (calls) => {
    const key = { type, resource_id: resource };
    const status = await calls.get('/lock/status', key, readStatus);
    const holder = holderToRelease(status['holder'] as Holder | undefined, options);
    if (!yes)
      await confirm(`${holder.node_id} has held ${type} ${resource} for ${since(holder.acquired_at)}.`);
    // Only the hold that was seen: another may have begun while somebody thought about it.
    const answer = await calls.post('/locks/release', { ...key, reason, token: holder.token }, readUnlock);
    if (json) printJson({ ...key, ...answer });
    else print(legible(`${type} ${resource}: ${String(answer['message'])}`));
  });
}

function holderToRelease(holder: Holder | undefined, { type, resource, token }: ReleaseOptions): Holder {
  const key = `${type} ${resource}`;
  if (!holder)
    throw new NothingTaken('LOCK_NOT_FOUND', `Nobody holds ${key}: there is nothing to take away.`);
  if (token === undefined || token === holder.token) return holder;
  const held = `${key} is held by ${holder.node_id} with token ${holder.token}`;
  throw new NothingTaken('STALE_TOKEN', `${held}, not ${token}: nothing was taken away.`);
}

async function confirm(situation: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const question = `${legible(situation)} It may still be working. Take it away? [y/N] `;
  // Ctrl-C is no.
  const answer = await terminal.question(question).catch(() => '');
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('Nothing was changed.');
}
