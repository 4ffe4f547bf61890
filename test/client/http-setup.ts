import { expect, onTestFinished } from 'vitest';
import { SystemClock } from '../../src/client/clock.js';
import { type Abandon, HttpPool, type HttpRequest } from '../../src/client/http/http-pool.js';
import { AnswerRecorder } from '../support/answer-recorder.js';
import { type OnRequest, RawHttpServer } from '../support/raw-http-server.js';

/** All of these end with the test. */

export async function rawServer(onRequest: OnRequest, host?: string): Promise<RawHttpServer> {
  const server = await RawHttpServer.start(onRequest, host);
  onTestFinished(() => server.close());
  return server;
}

export function poolOf(
  server: { readonly url: string },
  options: { limit?: number; clock?: ConstructorParameters<typeof HttpPool>[1] } = {},
): HttpPool {
  const pool = new HttpPool(new URL(server.url), options.clock ?? new SystemClock(), options.limit);
  onTestFinished(() => pool.close());
  return pool;
}

export interface Asked extends AnswerRecorder {
  abandon: Abandon;
}

/** Sends it, and watches until the test is over that its listener is told what it was promised. */
export function ask(pool: HttpPool, path = '/', request: Partial<HttpRequest> = {}): Asked {
  const recorder = new AnswerRecorder();
  const abandon = pool.send({ method: 'GET', path, ...request }, recorder);
  onTestFinished(() => expect(recorder.mistakes).toEqual([]));
  return Object.assign(recorder, { abandon });
}
