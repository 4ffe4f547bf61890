import { CommanderError } from 'commander';
import { failureOf } from './failure.js';
import { note, printJson } from './output.js';
import { holdfast } from './program.js';

// Whoever reads has had enough: `holdfast watch | head`. What has failed before that has failed.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(process.exitCode ?? (error.code === 'EPIPE' ? 0 : 1)),
);
// Nobody hears what is said beside it; that is no failure.
process.stderr.on('error', () => undefined);

try {
  await holdfast().parseAsync();
} catch (error) {
  // What has failed may have left connections open, which would keep the process: a server that could not start has some to its engine.
  process.exit(endOf(error));
}

function endOf(error: unknown): number {
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const { exitCode, code, message, cause, document } = failureOf(error);
  if (!(error instanceof CommanderError)) note(message);
  if (wantsJson()) printJson({ ...document, error: { code, message, cause } });
  return exitCode;
}

/** Also where the arguments could not be understood; what follows `--` is not for us. */
function wantsJson(): boolean {
  const end = process.argv.indexOf('--');
  return process.argv.slice(2, end === -1 ? undefined : end).includes('--json');
}
