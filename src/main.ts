import 'reflect-metadata';
import { resolve } from 'node:path';
import { AppModule } from './app.module.js';
import { type Settings } from './config/settings.js';
import { SETTINGS } from './config/settings.module.js';
import { createServer } from './server.js';

try {
  const app = await createServer(AppModule);
  const settings = app.get<Settings>(SETTINGS);
  await app.listen(settings.port, settings.host);
  const url = await app.getUrl();
  process.stdout.write(`Holdfast listens on ${url}
  docs       ${url}/docs
  health     ${url}/health/ready
  state      ${whereabouts(settings.storeUrl)}
  isolation  ${settings.lockIsolation}
`);
} catch (error) {
  process.stderr.write(`Holdfast cannot start. ${reason(error)}\n`);
  process.exit(1);
}

function whereabouts(storeUrl: string): string {
  return storeUrl.startsWith('file:') ? resolve(storeUrl.slice('file:'.length)) : storeUrl;
}

function reason(error: unknown): string {
  const { code, message, port } = error as { code?: string; message?: string; port?: number };
  if (code === 'EADDRINUSE') return `Port ${port} is taken: stop what listens there, or set PORT.`;
  return message ?? String(error);
}
