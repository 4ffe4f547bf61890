import { HoldfastError, LockClient } from '../../client/index.js';
import { causeOf } from '../../client/reply.js';

/** Whoever refuses a connection, or speaks something else, does so at once. */
const ASK_MS = 1000;

/** What is wrong with the servers that do not answer, in the system's words; `undefined` if they say nothing at all. Each is asked once. */
export async function whyUnreachable(
  serverUrls: readonly string[],
  nodeId: string,
): Promise<string | undefined> {
  const patience = { maxRetries: serverUrls.length - 1, retryIntervalMs: 0, requestTimeoutMs: ASK_MS };
  const client = new LockClient({ ...patience, serverUrls, nodeId });
  try {
    await client.refs.get('containerd-plugin-check');
    return undefined;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const failed = error.attempts.filter(({ status, ms }) => status === undefined && ms < ASK_MS);
    return failed.map(({ url, cause }) => `${url}: ${causeOf(cause)}`).join(', ') || undefined;
  } finally {
    await client.close();
  }
}
