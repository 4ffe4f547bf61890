import { type LockInput, type LockOutput, type SessionInput, type SessionOutput } from './lock-operations.js';

interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

type Body = Readonly<Record<string, unknown>>;

/** The request that asks for an operation. */
export function wireOf(input: LockInput | SessionInput): Request {
  switch (input.do) {
    case 'lock':
      return post('/lock', {
        ...keyOf(input),
        ticket: input.ticket,
        absent: input.absent,
        lease_ms: input.leaseMs,
      });
    case 'unlock': {
      const { token, success, error, fatal } = input;
      return post('/unlock', { ...keyOf(input), token, success, error, fatal: fatal || undefined });
    }
    case 'renew':
      return post('/lock/renew', { ...keyOf(input), token: input.token, lease_ms: input.leaseMs });
    case 'status':
      return post('/lock/status', { ...keyOf(input), ticket: input.ticket });
    case 'cancel':
      return post('/lock/cancel', keyOf(input));
    case 'add-reference':
      return post('/refcounts/add', { resource_id: input.resource, node_id: input.node });
    case 'release-reference':
      return post('/refcounts/release', { resource_id: input.resource, node_id: input.node });
    case 'references':
      return { method: 'GET', path: `/refcounts?resource_id=${encodeURIComponent(input.resource)}` };
    case 'open-session':
      return post('/sessions', { node_id: input.node, ttl_ms: input.ttlMs });
    case 'renew-session':
      return post(`/sessions/${input.session}/renew`, {});
    case 'end-session':
      return { method: 'DELETE', path: `/sessions/${input.session}` };
    case 'end':
      throw new Error('the end of a hold cannot be asked for');
  }
}

function post(path: string, body: object): Request {
  return { method: 'POST', path, body };
}

function keyOf(input: {
  type: string;
  resource: string;
  node: string;
  session?: string | undefined;
}): object {
  return { type: input.type, resource_id: input.resource, node_id: input.node, session_id: input.session };
}

/** What an answer says, as far as the model knows it. Rejects what no server should answer. */
export function readAnswer(
  input: LockInput | SessionInput,
  status: number,
  body: Body,
): LockOutput | SessionOutput {
  if (status === 403 || status === 429) return { is: 'refused', code: String(body['code']) };
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)} to ${JSON.stringify(input)}`);
  switch (input.do) {
    case 'lock':
      return lockOutput(body);
    case 'unlock':
      return { is: 'released', next: body['next_holder'] as string | undefined };
    case 'renew':
      return { is: 'renewed', token: Number(body['token']) };
    case 'status':
      return statusOutput(body);
    case 'cancel':
      return { is: 'cancelled', changed: body['cancelled'] === true };
    case 'references':
      return { is: 'references', nodes: nodesOf(body) };
    case 'add-reference':
    case 'release-reference':
      return { is: 'counted', count: Number(body['count']) };
    case 'open-session':
    case 'renew-session':
      return { is: 'session', session: String(body['session_id']) };
    default:
      return { is: 'ended' };
  }
}

function lockOutput(body: Body): LockOutput {
  const references = Number(body['reference_count']);
  if (body['acquired'] === true) return { is: 'acquired', token: Number(body['token']), references };
  if (body['skip'] === true) return { is: 'skip', references };
  return { is: 'queued', ticket: String(body['ticket']), position: Number(body['position']), references };
}

function statusOutput(body: Body): LockOutput {
  const holder = body['holder'] as { node_id: string; token: number } | undefined;
  return {
    is: 'status',
    acquired: body['acquired'] === true,
    completed: body['completed'] === true,
    success: body['success'] === true,
    holder: holder?.node_id,
    token: holder?.token,
    position: Number(body['position'] ?? 0),
    waiting: Number(body['queue_length']),
    references: Number(body['reference_count']),
  };
}

function nodesOf(body: Body): string[] {
  return (body['nodes'] as { node_id: string }[]).map(({ node_id }) => node_id).sort();
}
