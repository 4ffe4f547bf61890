import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ContentWriter, SourceError } from '../../../src/content/index.js';

const MOST_TRIES = 4;
const RETRY_MS = 50;

/**
 * The rest of a blob from a registry. A busy one is asked again when it says so; a broken connection is resumed.
 *
 * Not by `fetch`: a body that ends while nobody reads ends the process (nodejs/undici#5360).
 */
export async function download(url: string, writer: ContentWriter): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetchRest(url, writer);
    } catch (error) {
      if (!(error instanceof SourceError) || !error.isPassing || tries === MOST_TRIES) throw error;
      await sleep(error.retryAfterMs ?? RETRY_MS);
    }
  }
}

async function fetchRest(url: string, writer: ContentWriter): Promise<void> {
  if (writer.offset === writer.total) return;
  const headers = writer.offset > 0 ? { range: `bytes=${writer.offset}-` } : {};
  const answer = await ask(url, headers).catch(brokenOff);
  const { statusCode: status = 0 } = answer;
  if (status !== (writer.offset > 0 ? 206 : 200)) {
    answer.resume();
    const seconds = answer.headers['retry-after'];
    const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000;
    throw new SourceError(status, `${url} was answered with ${status}`, { retryAfterMs });
  }
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (;;) {
    const { done, value } = await chunks.next().catch(brokenOff);
    if (done) return;
    await writer.write(value);
  }
}

function ask(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, resolve).on('error', reject);
  });
}

function brokenOff(cause: unknown): never {
  throw new SourceError(0, 'the connection to the registry broke off', { cause });
}
