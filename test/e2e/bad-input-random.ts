import { pick, type Random } from '../support/random.js';
import { requestOf } from './bad-input-server.js';

const TYPES = ['pull', 'update', 'delete', 'build'];
const RESOURCES = Array.from({ length: 20 }, (_, i) => `layer-${i}`);
const NODES = Array.from({ length: 8 }, (_, i) => `node-${i}`);

/** JSON texts, most of them wrong in most places. Numbers are huge or wrong: nothing may end by itself meanwhile. */
const JUNK = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e400',
  '1e21',
  '9007199254740993',
  '2000000000',
  '31536000000',
  '""',
  '"x"',
  '"NaN"',
  '"1"',
  '"\\u0000"',
  '"\\ud800"',
  '"💣"',
  '"__proto__"',
  '"constructor"',
  '"pull"',
  '[]',
  '[[]]',
  '[null]',
  '{}',
  '{"__proto__":{"x":1}}',
  '{"constructor":{"prototype":{"x":1}}}',
  `"${'x'.repeat(600)}"`,
];
const FIELDS = [
  'type',
  'resource_id',
  'node_id',
  'session_id',
  'subtype',
  'lease_ms',
  'ticket',
  'absent',
  'success',
  'error',
  'fatal',
  'token',
  'reason',
  'ttl_ms',
  'on_timeout',
  'requests',
  '__proto__',
  'constructor',
  'toString',
  'x',
];
const POSTS = [
  '/lock',
  '/lock',
  '/lock',
  '/unlock',
  '/unlock',
  '/lock/renew',
  '/lock/cancel',
  '/lock/status',
  '/locks/release',
  '/refcounts/add',
  '/refcounts/release',
  '/refcounts/release-node',
  '/sessions',
  '/sessions/unknown/renew',
  '/lock/batch',
  '/unlock/batch',
];
const GETS = [
  '/lock/status',
  '/locks',
  '/refcounts',
  '/subscribe',
  '/sessions/unknown/events',
  '/health/live',
  '/metrics',
];
const METHODS = ['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'QUERY'];
const CONTENT_TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=utf-16',
  'multipart/form-data',
  'json',
];

/** A request that is right in some parts and wrong in others; its framing is always right. */
export function randomRequest(random: Random): Buffer {
  const chance = (probability: number) => random() < probability;
  const kind = random();
  if (kind < 0.25) return requestOf('GET', pick(random, GETS) + randomQuery(random));
  const method = kind < 0.3 ? pick(random, METHODS) : 'POST';
  const path = chance(0.03)
    ? `/${pick(random, FIELDS)}/%${pick(random, ['ff', '2e', '', '00'])}`
    : pick(random, POSTS);
  const body = path.endsWith('/batch') && chance(0.8) ? randomBatch(random) : randomObject(random);
  const headers = chance(0.04) ? { 'content-type': pick(random, CONTENT_TYPES) } : undefined;
  return requestOf(method, path, damaged(random, body), {
    chunked: chance(0.2),
    ...(headers && { headers }),
  });
}

function randomBatch(random: Random): string {
  const items = Array.from({ length: Math.floor(random() * 5) }, () =>
    random() < 0.2 ? pick(random, JUNK) : randomObject(random),
  );
  return `{"requests":[${items.join(',')}]}`;
}

function randomObject(random: Random): string {
  const fields = new Map<string, string>([
    ['type', JSON.stringify(pick(random, TYPES))],
    ['resource_id', JSON.stringify(pick(random, RESOURCES))],
    ['node_id', JSON.stringify(pick(random, NODES))],
  ]);
  if (random() < 0.2) fields.set('error', '"broken"');
  if (random() < 0.1) fields.set('reason', '"stuck"');
  if (random() < 0.1) fields.delete(pick(random, FIELDS));
  const junk = Math.floor(random() ** 2 * 4);
  for (let i = 0; i < junk; i++) fields.set(pick(random, FIELDS), pick(random, JUNK));
  return `{${[...fields].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

function damaged(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text);
  const kind = random();
  const at = Math.floor(random() * bytes.length);
  if (kind < 0.05) return bytes.subarray(0, at);
  if (kind < 0.1) return Buffer.from(bytes.fill(Math.floor(random() * 256), at, at + 1));
  if (kind < 0.105) return Buffer.concat([bytes, Buffer.alloc(70_000, ' ')]);
  if (kind < 0.11) return Buffer.from(`${'['.repeat(20_000)}${text}`);
  return bytes;
}

function randomQuery(random: Random): string {
  const values: Record<string, readonly string[]> = { type: TYPES, resource_id: RESOURCES, node_id: NODES };
  const parts: string[] = [];
  for (const [name, good] of Object.entries(values)) {
    if (random() < 0.85) parts.push(`${name}=${pick(random, good)}`);
  }
  while (random() < 0.25) {
    const junk = pick(random, ['', '%', '%ff', '%00', 'a%20b', '1e400', '-0', '0', 'NaN', 'x'.repeat(700)]);
    parts.push(
      `${pick(random, ['type', 'resource_id', 'node_id', 'limit', 'after', 'ticket', 'x[]'])}=${junk}`,
    );
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
