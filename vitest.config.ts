import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.spec.ts', 'test/**/*.spec.ts'],
    testTimeout: 60_000,
    // Many specs mostly wait for processes of their own: one worker, vitest's choice on two cores, would leave them idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: ['test/support/engines/global-setup.ts'],
  },
});
