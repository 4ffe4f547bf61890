import 'reflect-metadata';
import { resolve } from 'node:path';
import { type DynamicModule, type Type } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { misspelt } from './config/misspelt.js';
import { readSettings, type Settings } from './config/settings.js';
import { SETTINGS } from './config/settings.module.js';
import { HoldfastModule } from './holdfast.module.js';
import { LoggingModule } from './logging/logging.module.js';
import { createServer } from './server.js';
import { withoutPassword } from './stores/store-url.js';

export interface RunningServer {
  readonly url: string;
  readonly settings: Settings;
  close(): Promise<void>;
}

/** The server as the environment describes it. Rejects with an error that a person can act on. */
export async function serve(): Promise<RunningServer> {
  // Whoever cannot be told where it listens, because a disk is full, is served all the same.
  process.stdout.on('error', () => undefined);
  for (const warning of misspelt(process.env)) process.stderr.write(`${warning}\n`);
  try {
    return await listen(AppModule);
  } catch (error) {
    throw new Error(`Holdfast cannot start. ${reason(error)}`, { cause: error });
  }
}

/** A silent server of its own on a free port of this machine, which forgets everything at its end. */
export function serveInMemory(sessionTtlMs: number): Promise<RunningServer> {
  const memory = { storeUrl: 'memory:', port: 0, host: '127.0.0.1', logLevel: 'silent' } as const;
  const settings = { ...readSettings({}), ...memory, sessionTtlMs };
  return listen({
    module: class InMemory {},
    imports: [HoldfastModule.forRoot({ settings }), LoggingModule],
  });
}

async function listen(root: Type | DynamicModule): Promise<RunningServer> {
  const app = await createServer(root);
  const settings = app.get<Settings>(SETTINGS);
  await app.listen(settings.port, settings.host);
  return { url: await app.getUrl(), settings, close: () => app.close() };
}

/** Where to find what; `state` is where it is kept. */
export function whereabouts({ url, settings }: RunningServer) {
  const { storeUrl, lockIsolation: isolation } = settings;
  const state = storeUrl.startsWith('file:')
    ? resolve(storeUrl.slice('file:'.length))
    : withoutPassword(storeUrl);
  return { url, docs: `${url}/docs`, health: `${url}/health/ready`, state, isolation };
}

/** What a host is called that is all of them; an address to be opened has to be one of them. */
const EVERYWHERE = new Set(['0.0.0.0', '::']);

export function announcement(server: RunningServer): string {
  const { url, docs, health, state, isolation } = whereabouts(server);
  const everywhere = EVERYWHERE.has(server.settings.host) ? ', at every address of this machine' : '';
  return `Holdfast listens on ${url}${everywhere}
  docs       ${docs}
  health     ${health}
  state      ${state}
  isolation  ${isolation}
`;
}

function reason(error: unknown): string {
  const { code, message, port, address, hostname } = error as NodeJS.ErrnoException & {
    port?: number;
    address?: string;
    hostname?: string;
  };
  if (hostname !== undefined)
    return `HOST is ${hostname}, for which no address is found (${code}): set it to one of this machine.`;
  if (code === 'EADDRNOTAVAIL') return `This machine has no address ${address}: set HOST to one it has.`;
  if (code === 'EADDRINUSE') return `Port ${port} is taken: stop what listens there, or set PORT.`;
  return message ?? String(error);
}
