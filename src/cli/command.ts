import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { serverUrlOf } from '../client/options.js';
import { UsageError } from './failure.js';

/** The server takes no longer ones. */
const MAX_NODE_LENGTH = 256;

export const DEFAULT_SERVER = 'http://127.0.0.1:8086';

/** What every command that asks a server knows. */
export interface ServerOptions {
  readonly server: readonly string[];
  readonly json?: boolean;
}

export interface KeyOptions {
  readonly type: string;
  readonly resource: string;
}

/** A command with `--json` and examples in its help. */
export function command(name: string, description: string, examples: readonly string[]): Command {
  return withExamples(new Command(name), examples)
    .description(description)
    .option('--json', 'machine-readable output');
}

export function withExamples(command: Command, examples: readonly string[]): Command {
  const list = examples.map((example) => `  $ ${example}`).join('\n');
  return command.addHelpText('after', `\nExamples:\n${list}`);
}

/** And that asks a server. */
export function serverCommand(name: string, description: string, examples: readonly string[]): Command {
  const server = new Option('--server <urls>', 'where the server is; several separated by commas')
    .env('HOLDFAST_URL')
    .argParser(serverUrls)
    .default([DEFAULT_SERVER], DEFAULT_SERVER);
  return command(name, description, examples).addOption(server);
}

export function withKey(command: Command): Command {
  return command
    .requiredOption('--type <type>', 'the operation: pull, update, delete or a name of your own')
    .requiredOption('--resource <id>', 'what it is about, for example a layer digest');
}

export function withNode(command: Command): Command {
  return command.addOption(
    new Option('--node <id>', 'the node').argParser(nodeId).default(hostname(), 'the name of this host'),
  );
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function nodeId(text: string): string {
  if (text !== '' && text.length <= MAX_NODE_LENGTH) return text;
  throw new InvalidArgumentError(`It must have 1 to ${MAX_NODE_LENGTH} characters.`);
}

function serverUrls(text: string): string[] {
  const urls = text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '');
  if (urls.length === 0) throw new InvalidArgumentError('Name at least one.');
  for (const url of urls) checkServerUrl(url);
  return urls;
}

/** An `InvalidArgumentError` would show all that was given, with passwords. */
function checkServerUrl(url: string): void {
  try {
    serverUrlOf(url);
  } catch (error) {
    const { message } = error as TypeError;
    throw new UsageError(`--server (or HOLDFAST_URL) is not like ${DEFAULT_SERVER}. ${message}`);
  }
}
