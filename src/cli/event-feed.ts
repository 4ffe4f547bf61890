import { type Readable } from 'node:stream';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type Clock, HoldfastError, ProtocolError, SystemClock, UnavailableError } from '../client/index.js';
import { Exchange } from '../client/exchange.js';
import { errorOf, isRecord, type Json } from '../client/reply.js';
import { heartbeatIn, Silence } from '../client/silence.js';
import { answerStream, type StreamedAnswer } from './answer-stream.js';
import { hasLocks } from './lock-row.js';

/** The default of servers, some of which do not tell theirs. */
const HEARTBEAT_MS = 15_000;

/** A server that is there answers with headers and snapshot at once. */
const SNAPSHOT_WITHIN_MS = 30_000;

/** A server that restarts is back in about this time. */
const AGAIN_AFTER_MS = 1000;

export interface FeedEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: Json;
}

/**
 * Everything that happens, from the first of the servers that answers; connects again, each time from the snapshot, for
 * as long as somebody listens. Rejects only if no server answers, or none that is Holdfast, at the beginning. `onCut` is told why it was cut.
 */
export async function* followEvents(
  urls: readonly string[],
  onCut: (why: string) => void,
  clock: Clock = new SystemClock(),
): AsyncGenerator<FeedEvent> {
  let isHoldfast = false;
  for (;;) {
    try {
      for await (const event of eventsIn(await connect(urls, clock), clock)) {
        isHoldfast ||= event.name === 'snapshot';
        if (!isHoldfast) throw notHoldfast(urls, undefined);
        yield event;
      }
      throw new Error('the server has closed the stream');
    } catch (error) {
      if (!isHoldfast) throw error instanceof HoldfastError ? error : notHoldfast(urls, error);
      onCut((error as Error).message.split('\n')[0]!);
    }
    await new Promise<void>((resolve) => clock.after(AGAIN_AFTER_MS, resolve));
  }
}

async function connect(urls: readonly string[], clock: Clock): Promise<Readable> {
  const attempts = [];
  let refusal: HoldfastError | undefined;
  for (const url of urls) {
    try {
      const target = new URL(`${url.replace(/\/+$/, '')}/events`);
      const answer = await answerStream(target, clock, SNAPSHOT_WITHIN_MS);
      const { status, contentType } = answer.head;
      if (status === 200 && contentType.startsWith('text/event-stream')) return answer.body;
      refusal = await refusalIn(url, answer, clock);
    } catch (cause) {
      attempts.push({ url, ms: 0, cause });
    }
  }
  throw refusal ?? new UnavailableError('UNREACHABLE', `No answer from ${urls.join(', ')}`, { attempts });
}

/** What is said in the place of a stream. */
function refusalIn(url: string, { head, body }: StreamedAnswer, clock: Clock): Promise<HoldfastError> {
  return new Promise((resolve) => {
    const now = () => clock.monotonicMs();
    const dueAtMs = now() + SNAPSHOT_WITHIN_MS;
    const exchange = new Exchange(url, now(), dueAtMs, now, (_, reply) => {
      cancelTimer();
      resolve(errorOf(reply, { method: 'GET', path: '/events' }));
    });
    const late = () => exchange.abort(new Error(`no answer within ${SNAPSHOT_WITHIN_MS} ms`));
    const cancelTimer = clock.after(SNAPSHOT_WITHIN_MS, late);
    exchange.abandon = () => body.destroy();
    exchange.onHead(head);
    body.on('data', (bytes: Buffer) => exchange.onData(bytes));
    body.on('end', () => exchange.onEnd());
    body.on('error', (cause) => exchange.onError(cause));
  });
}

function notHoldfast(urls: readonly string[], cause: unknown): ProtocolError {
  return new ProtocolError(`What answers at ${urls.join(', ')} is not Holdfast.`, { cause });
}

async function* eventsIn(body: Readable, clock: Clock): AsyncGenerator<FeedEvent> {
  const silence = new Silence(clock, SNAPSHOT_WITHIN_MS, () =>
    body.destroy(new Error('nothing was heard for too long')),
  );
  try {
    for await (const event of messagesIn(body, () => silence.heard())) {
      if (event.name === 'snapshot') silence.expectEvery(heartbeatIn(event.data, HEARTBEAT_MS));
      yield event;
    }
  } finally {
    silence.stop();
  }
}

async function* messagesIn(body: Readable, onHeard: () => void): AsyncGenerator<FeedEvent> {
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => void messages.push(message) });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    onHeard();
    parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
    for (const message of messages.splice(0)) yield eventOf(message);
  }
}

function eventOf({ event: name = 'message', id, data }: EventSourceMessage): FeedEvent {
  const json: unknown = JSON.parse(data);
  if (isRecord(json) && (name !== 'snapshot' || hasLocks(json))) return { name, id, data: json };
  throw new Error('an event was not Holdfast’s');
}
