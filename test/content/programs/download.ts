import { setTimeout as sleep } from 'node:timers/promises';
import { type ContentWriter, SourceError } from '../../../src/content/index.js';

const MOST_TRIES = 4;
const RETRY_MS = 50;

/** The rest of a blob from a registry. A busy one is asked again when it says so; a broken connection is resumed. */
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
  const answer = await fetch(url, { headers }).catch(brokenOff);
  if (answer.status !== (writer.offset > 0 ? 206 : 200)) {
    await answer.body?.cancel();
    const seconds = answer.headers.get('retry-after');
    const retryAfterMs = seconds === null ? undefined : Number(seconds) * 1000;
    throw new SourceError(answer.status, `${url} was answered with ${answer.status}`, { retryAfterMs });
  }
  const reader = answer.body!.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return;
    await writer.write(value);
  }
}

function brokenOff(cause: unknown): never {
  throw new SourceError(0, 'the connection to the registry broke off', { cause });
}
