import { type Command } from 'commander';
import { command, integer } from '../command.js';
import { print, printJson } from '../output.js';

interface ServeOptions {
  readonly port?: number;
  readonly host?: string;
  readonly store?: string;
  readonly json?: boolean;
}

export function serveCommand(): Command {
  const examples = [
    'holdfast serve',
    'holdfast serve --port 8087 --store memory:',
    'LOG_LEVEL=warn holdfast serve',
  ];
  return command('serve', 'Start a server. Settings come from the environment (config/example.env)', examples)
    .option('--port <number>', 'instead of PORT', integer(0, 65_535))
    .option('--host <address>', 'instead of HOST')
    .option('--store <url>', 'instead of STORE_URL: memory:, file:DIR, redis://… or etcd://…')
    .action(serve);
}

/** The options go where the settings are read, so that they are checked like those. */
async function serve({ port, host, store, json }: ServeOptions): Promise<void> {
  const given = { PORT: port, HOST: host, STORE_URL: store };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) process.env[name] = String(value);
  const serving = await import('../../serve.js');
  const server = await serving.serve();
  if (json) printJson(serving.whereabouts(server));
  else print(serving.announcement(server).trimEnd());
}
