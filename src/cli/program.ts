import { Command, Help, type Option } from 'commander';
import { VERSION } from '../version.js';
import { containerdPluginCommand } from './commands/containerd-plugin.js';
import { demoCommand } from './commands/demo.js';
import { locksCommand } from './commands/locks.js';
import { refsCommand } from './commands/refs.js';
import { releaseCommand } from './commands/release.js';
import { runCommand } from './commands/run.js';
import { serveCommand } from './commands/serve.js';
import { statusCommand } from './commands/status.js';
import { watchCommand } from './commands/watch.js';
import { EXIT_CODES_HELP } from './exit-codes.js';

const EXAMPLES = `
Examples:
  $ holdfast serve
  $ holdfast run --type pull --resource sha256:4f4e -- ./download.sh
  $ holdfast locks
  $ holdfast demo`;

export function holdfast(): Command {
  const program = new Command('holdfast')
    .description('Many nodes, one piece of work, done once.')
    .version(VERSION)
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES)
    .addHelpText('after', EXIT_CODES_HELP);
  const commands = [
    serveCommand(),
    runCommand(),
    statusCommand(),
    locksCommand(),
    watchCommand(),
    refsCommand(),
    releaseCommand(),
    containerdPluginCommand(),
    demoCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  configure(program);
  return program;
}

/** Commands inherit nothing from the program that they are added to. */
function configure(command: Command): void {
  command
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureHelp({ optionDescription: descriptionOf });
  for (const part of command.commands) configure(part);
}

function descriptionOf(this: Help, option: Option): string {
  const description = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${description} (required)` : description;
}
