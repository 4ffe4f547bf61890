import { malformed, successBody } from '../client/answers.js';
import { type HoldfastError } from '../client/index.js';
import { causeOf, isRecord, type Json, type Reply } from '../client/reply.js';
import { isProxyAlone, isStranger, isUnreachable } from './failure.js';
import { asking } from './server-calls.js';

/** How one server stands. */
export interface ServerState {
  readonly url: string;
  readonly ready: boolean;
  /** Why it is not, for programs. */
  readonly code?: string;
  /** And for people: it goes on where the URL ends. */
  readonly message: string;
  /** What the server says of its parts. */
  readonly details?: Json;
}

/** Never rejects: what keeps a server from answering is part of its state. */
export function serverState(url: string): Promise<ServerState> {
  return asking([url], async (calls) => {
    const reply = await calls.reply('GET', '/health/ready');
    try {
      const { status } = successBody(reply, undefined);
      if (status !== 'ok') throw malformed(reply, undefined);
      return { url, ready: true, message: 'is ready' };
    } catch (error) {
      const { code } = error as HoldfastError;
      const details = detailsOf(reply);
      const message = whyNot(error as HoldfastError, reply, details);
      return { url, ready: false, code, message, ...(details && { details }) };
    }
  });
}

function whyNot(error: HoldfastError, { status, cause }: Reply, details: Json | undefined): string {
  if (isUnreachable(error)) return `does not answer: ${causeOf(cause)}`;
  if (isProxyAlone(error.code)) return `is not reached: a proxy answered ${status}`;
  if (isStranger(error)) return `is not Holdfast: something else answered ${status}`;
  const reasons = Object.entries(details ?? {}).flatMap(reasonOf);
  return `is not ready: ${reasons.length > 0 ? reasons.join('; ') : error.message}`;
}

function reasonOf([part, state]: [string, unknown]): string[] {
  if (!isRecord(state) || state['status'] === 'up') return [];
  const { message } = state;
  return [typeof message === 'string' ? `${part}: ${message}` : `${part} is down`];
}

function detailsOf({ body }: Reply): Json | undefined {
  const details = isRecord(body) ? body['details'] : undefined;
  return isRecord(details) ? details : undefined;
}
