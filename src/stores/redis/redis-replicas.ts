import { type Redis } from 'ioredis';
import { unavailable } from './redis-faults.js';

export type Reply = { readonly error: Error } | { readonly result: unknown };

export function replyTo(asked: Promise<unknown>): Promise<Reply> {
  return asked.then(
    (result) => ({ result }),
    (error: Error) => ({ error }),
  );
}

/** Of a reply to `WAIT`. The primary has `what`; whether that outlives the primary is what is not known. */
export function missingReplicas(reply: Reply, wanted: number, what: string): Error | undefined {
  if ('error' in reply) return reply.error;
  if (Number(reply.result) >= wanted) return undefined;
  return new Error(`Only ${Number(reply.result)} of ${wanted} replicas have acknowledged ${what}.`);
}

/** What is read only once as many replicas have it as a commit has to wait for: what none has may be lost, and then it never was. */
export class Replicas {
  constructor(private readonly terms: { readonly wait: number; readonly waitTimeoutMs: number }) {}

  /**
   * What was read, by the same connection. Redis promises to wait only for what that has written, so that a field that means nothing
   * is written to the partition's `head`.
   */
  async have<T>(redis: Redis, head: string, read: Promise<T>): Promise<T> {
    const { wait, waitTimeoutMs } = this.terms;
    if (wait === 0) return read;
    const [found, , reply] = await Promise.all([
      read,
      redis.hset(head, 'read', ''),
      replyTo(redis.wait(wait, waitTimeoutMs)),
    ]);
    const missing = missingReplicas(reply, wait, 'what was read');
    if (missing) throw unavailable('get', missing.message, missing);
    return found;
  }
}
