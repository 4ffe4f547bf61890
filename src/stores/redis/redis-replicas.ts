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
