import { type Command } from 'commander';
import {
  integer,
  type KeyOptions,
  serverCommand,
  type ServerOptions,
  withKey,
  withNode,
} from '../command.js';
import { EXIT, EXIT_CODES_HELP } from '../exit-codes.js';
import { NotReported } from '../failure.js';
import { note, printJson } from '../output.js';
import { type CommandResult, CommandRun } from '../run/command-run.js';
import { DEFAULT_KILL_AFTER_MS, sessionTtlFor } from '../run/time-to-stop.js';
import { since } from '../times.js';

const DAY_MS = 86_400_000;

interface RunOptions extends ServerOptions, KeyOptions {
  readonly node: string;
  readonly onSkip: number;
  readonly killAfter: number;
  readonly sessionTtl?: number;
  readonly wait?: number;
  readonly lane?: string;
  readonly absent?: boolean;
}

export function runCommand(): Command {
  const examples = [
    'holdfast run --type pull --resource sha256:4f4e -- ./download.sh',
    'holdfast run --type update --resource site --wait 60000 --on-skip 3 -- make deploy',
    'holdfast run --type nightly --resource backup -- sh -c \'./backup --fence "$HOLDFAST_TOKEN"\'',
  ];
  return withNode(
    withKey(serverCommand('run', 'Run a command under a lock, unless another node does it', examples)),
  )
    .option('--on-skip <code>', 'exit code when it was done by another node', integer(0, 255), 0)
    .option(
      '--wait <ms>',
      'longest wait for the lock; 0: ask once and do not queue (default: no limit)',
      integer(0, DAY_MS),
    )
    .option(
      '--kill-after <ms>',
      'from SIGTERM to SIGKILL when the hold is lost',
      integer(0, DAY_MS),
      DEFAULT_KILL_AFTER_MS,
    )
    .option(
      '--session-ttl <ms>',
      'how long the lock outlives this process (default: 10000 or more)',
      integer(100, DAY_MS),
    )
    .option('--absent', 'a pull that has looked: run it although other nodes are counted as users')
    .option('--lane <subtype>', 'the lane to wait in')
    .argument('<command...>', 'the command and its arguments; its exit code is the outcome')
    .passThroughOptions()
    .addHelpText(
      'after',
      '\nThe command finds HOLDFAST_TOKEN, HOLDFAST_TYPE and HOLDFAST_RESOURCE in its environment.',
    )
    .addHelpText('after', EXIT_CODES_HELP)
    .action(run);
}

async function run(command: string[], options: RunOptions): Promise<void> {
  const { server, node, type, resource, killAfter, wait, json = false, absent, lane } = options;
  const sessionTtlMs = sessionTtlFor(killAfter, options.sessionTtl);
  const request = { type, resourceId: resource, absent, subtype: lane };
  const run = new CommandRun(
    {
      serverUrls: server,
      nodeId: node,
      sessionTtlMs,
      killAfterMs: killAfter,
      waitMs: wait,
      stdout: json ? 2 : 'inherit',
      say: json ? () => undefined : note,
    },
    request,
    command,
  );
  const key = { type, resource_id: resource, node_id: node };
  const result = await run.result().catch((error: unknown) => {
    const { successToken: token } = run;
    throw token === undefined ? error : new NotReported(error, { ...key, status: 'unreported', token });
  });
  process.exitCode = exitCodeOf(result, options.onSkip);
  if (json) printJson({ ...key, ...documentOf(result, process.exitCode) });
  else say(result, `${type} ${resource}`);
}

function exitCodeOf(result: CommandResult, onSkip: number): number {
  if (result.status === 'skipped') return onSkip;
  return result.status === 'lost' ? EXIT.holdLost : result.ending.exitCode;
}

function documentOf(result: CommandResult, exitCode: number): object {
  const { status } = result;
  if (status === 'skipped') {
    const { nodeId: done_by, completedAt: completed_at, message } = result;
    return { status, exit_code: exitCode, done_by, completed_at, message };
  }
  const { token, ending } = result;
  const reason = status === 'lost' ? result.why : undefined;
  return { status, exit_code: exitCode, token, error: ending.error, reason };
}

/** Standard output belongs to the command. */
function say(result: CommandResult, key: string): void {
  if (result.status === 'skipped') note(`Skipped ${key}: ${doneBy(result)}`);
  if (result.status === 'failed') note(`${key} failed: ${result.ending.error}`);
  if (result.status === 'lost')
    note(
      `The hold on ${key} was lost and the command stopped: its result must not be used. Why: ${result.why}.`,
    );
}

function doneBy({ nodeId, completedAt, message }: CommandResult & { status: 'skipped' }): string {
  const who = nodeId === undefined ? message : `done by ${nodeId}`;
  return completedAt === undefined ? who : `${who} at ${completedAt} (${since(completedAt)} ago)`;
}
