import { successBody } from '../client/answers.js';
import { Caller } from '../client/caller.js';
import { SystemClock } from '../client/clock.js';
import { type SentRequest } from '../client/index.js';
import { type Json, type Reply } from '../client/reply.js';
import { Retries } from '../client/retries.js';
import { Transport } from '../client/transport.js';

/** Somebody sits in front of it. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Throws if the answer is none of Holdfast's. */
export type AnswerCheck = (reply: Reply, request: SentRequest) => unknown;

type Query = Readonly<Record<string, string | number | undefined>>;

/** Single questions to the server, answered or refused at once. Of several servers each is asked once. */
export class ServerCalls {
  private readonly transport: Transport;
  private readonly caller: Caller;

  constructor(urls: readonly string[]) {
    const clock = new SystemClock();
    const retries = new Retries({ maxRetries: urls.length - 1, retryIntervalMs: 0 }, urls.length);
    this.transport = new Transport(
      urls.map((url) => new URL(url)),
      REQUEST_TIMEOUT_MS,
      clock,
    );
    this.caller = new Caller(this.transport, retries, clock, new AbortController().signal);
  }

  get(path: string, query: Query, check: AnswerCheck): Promise<Json> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) search.set(name, String(value));
    return this.call({ method: 'GET', path: search.size === 0 ? path : `${path}?${search}` }, check);
  }

  post(path: string, body: object, check: AnswerCheck): Promise<Json> {
    return this.call({ method: 'POST', path, body: JSON.stringify(body) }, check);
  }

  /** Whatever it is. */
  reply(method: string, path: string, body?: string): Promise<Reply> {
    return this.caller.call(method, path, body);
  }

  close(): void {
    this.transport.close();
  }

  private async call(request: SentRequest, check: AnswerCheck): Promise<Json> {
    const { method, path, body } = request;
    const reply = await this.reply(method, path, body);
    const answer = successBody(reply, request);
    check(reply, request);
    return answer;
  }
}

/** Asks, and leaves no connection behind. */
export async function asking<T>(
  urls: readonly string[],
  ask: (calls: ServerCalls) => Promise<T>,
): Promise<T> {
  const calls = new ServerCalls(urls);
  try {
    return await ask(calls);
  } finally {
    calls.close();
  }
}
