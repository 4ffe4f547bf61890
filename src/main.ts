import 'reflect-metadata';
import { AppModule } from './app.module.js';
import { type Settings } from './config/settings.js';
import { SETTINGS } from './config/settings.module.js';
import { createServer } from './server.js';

try {
  const app = await createServer(AppModule);
  const { port, host, storeUrl } = app.get<Settings>(SETTINGS);
  await app.listen(port, host);
  const url = await app.getUrl();
  process.stdout.write(`Holdfast listens on ${url}
  docs    ${url}/docs
  health  ${url}/health/ready
  state   ${storeUrl}
`);
} catch (error) {
  process.stderr.write(`Holdfast cannot start. ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
