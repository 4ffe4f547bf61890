import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { Guardian } from '../../src/cli/run/guardian.js';

it('a guardian that has begun stops the group although its process lives: it may die before it has done so itself', async () => {
  const script = 'trap "" TERM; echo ready; while :; do sleep 0.05; done';
  const group = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void group.kill('SIGKILL'));
  await once(group.stdout, 'data');
  const guardian = new Guardian(group.pid!, 100);
  onTestFinished(() => guardian.dismiss());
  guardian.begin();
  const [code, signal] = await once(group, 'exit');
  expect([code, signal]).toEqual([null, 'SIGKILL']);
});
