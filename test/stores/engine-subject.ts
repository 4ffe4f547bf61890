import { afterEach } from 'vitest';
import { EngineProxy } from '../support/engines/engine-proxy.js';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

/** With the test, the last first. */
export function endWithTest(cleanUp: () => unknown): void {
  cleanUps.push(cleanUp);
}

export async function startProxy(target: number): Promise<EngineProxy> {
  const proxy = await EngineProxy.start(target);
  endWithTest(() => proxy.close());
  return proxy;
}
