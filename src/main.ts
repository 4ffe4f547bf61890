import { announcement, serve } from './serve.js';

try {
  process.stdout.write(announcement(await serve()));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
}
