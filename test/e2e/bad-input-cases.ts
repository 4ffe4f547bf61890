import { requestOf } from './bad-input-server.js';

/** The resource that is held, awaited and referenced while bad input arrives, and its names in requests. */
export const HELD = { type: 'update', resource_id: 'held', node_id: 'holder' };

export interface BadCase {
  readonly name: string;
  readonly request: Buffer;
  readonly status: number;
  readonly code: string;
  /** What the message must name. */
  readonly names?: string;
}

const NOT_STRINGS = ['5', 'true', '[]', '{}', '["x"]', '-0'];
const BAD_NAMES = ['""', '"a\\u0000b"', '"a\\nb"', '"\\u007f"', '"\\u0085"', '"\\ud800"', '"\\udc00x"'];
const NUMBERS = ['"5"', '"NaN"', '1.5', '-1', '1e400', '-1e400', '9007199254740993', 'true', '[]', '{}'];

/** JSON texts that a field may not be, by what the field is. */
const WRONG = {
  name: [undefined, 'null', ...NOT_STRINGS, ...BAD_NAMES, `"${'x'.repeat(600)}"`],
  type: [
    undefined,
    'null',
    ...NOT_STRINGS,
    ...BAD_NAMES,
    '"a b"',
    '"../x"',
    '"__proto__"',
    '"é"',
    `"${'x'.repeat(65)}"`,
  ],
  session: [...NOT_STRINGS, ...BAD_NAMES, `"${'x'.repeat(65)}"`],
  number: NUMBERS,
  positive: [...NUMBERS, '0', '-0'],
  flag: ['"true"', '1', '0', '[]', '{}'],
  ticket: [...NOT_STRINGS, '"x"', '"0.0.a.b"', '"1.1.zzz.b"', `"${'1'.repeat(200)}"`],
  choice: ['"later"', '5', '""', '["stay"]'],
  text: [undefined, 'null', '5', '""', '{}', `"${'x'.repeat(1001)}"`],
  freeText: ['5', '{}', 'true'],
  list: [undefined, 'null', '{}', '"x"', '[]', `[${'1,'.repeat(256)}1]`],
} as const;

const KEY = { type: 'type', resource_id: 'name' } as const;
const ASKER = { ...KEY, node_id: 'name', session_id: 'session' } as const;

type Fields = Readonly<Record<string, keyof typeof WRONG>>;

const ENDPOINTS: Readonly<Record<string, { readonly fields: Fields; readonly valid: object }>> = {
  '/lock': {
    fields: {
      ...ASKER,
      subtype: 'session',
      lease_ms: 'number',
      wait_ms: 'number',
      on_timeout: 'choice',
      ticket: 'ticket',
      absent: 'flag',
    },
    valid: { ...HELD, node_id: 'newcomer' },
  },
  '/unlock': {
    fields: { ...ASKER, success: 'flag', error: 'freeText', fatal: 'flag', token: 'positive' },
    valid: HELD,
  },
  '/lock/renew': { fields: { ...ASKER, token: 'positive', lease_ms: 'number' }, valid: HELD },
  '/lock/cancel': { fields: { ...ASKER, ticket: 'ticket' }, valid: { ...HELD, node_id: 'waiter' } },
  '/lock/status': { fields: { ...KEY, session_id: 'session', ticket: 'ticket' }, valid: HELD },
  '/locks/release': {
    fields: { ...KEY, reason: 'text', token: 'positive' },
    valid: { ...HELD, reason: 'stuck' },
  },
  '/refcounts/add': { fields: { resource_id: 'name', node_id: 'name' }, valid: HELD },
  '/refcounts/release': {
    fields: { resource_id: 'name', node_id: 'name' },
    valid: { ...HELD, node_id: 'user' },
  },
  '/refcounts/release-node': { fields: { node_id: 'name' }, valid: { node_id: 'user' } },
  '/sessions': { fields: { node_id: 'name', ttl_ms: 'positive' }, valid: { node_id: 'n' } },
  '/lock/batch': { fields: { requests: 'list' }, valid: {} },
  '/unlock/batch': { fields: { requests: 'list' }, valid: {} },
};

/** Every field of every request, missing and with every wrong value. */
export function wrongFields(): BadCase[] {
  const cases: BadCase[] = [];
  for (const [path, { fields, valid }] of Object.entries(ENDPOINTS)) {
    for (const [field, kind] of Object.entries(fields)) {
      for (const value of WRONG[kind]) {
        const name = `POST ${path} with ${field} ${value === undefined ? 'missing' : value.slice(0, 40)}`;
        const request = requestOf('POST', path, withField(valid, field, value));
        cases.push({ name, request, status: 400, code: 'BAD_REQUEST', names: field });
      }
    }
  }
  return cases;
}

/** The body's JSON with one field as the given JSON text, which `JSON.stringify` could not write. */
function withField(valid: object, field: string, value: string | undefined): string {
  const others = Object.entries(valid).filter(([name]) => name !== field);
  const members = others.map(([name, other]) => `${JSON.stringify(name)}:${JSON.stringify(other)}`);
  if (value !== undefined) members.push(`${JSON.stringify(field)}:${value}`);
  return `{${members.join(',')}}`;
}

const LOCK = JSON.stringify({ ...HELD, node_id: 'newcomer' });
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
const named = (broken: number[]) => bytes('{"type":"update","resource_id":"held","node_id":"', broken, '"}');
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const padded = (length: number) => LOCK + ' '.repeat(length - LOCK.length);

const BODIES: readonly [name: string, body: string | Buffer, code?: string][] = [
  ['half an object', '{"type":"update"'],
  ['an array', `[${LOCK}]`],
  ['a string', '"update"'],
  ['null', 'null'],
  ['a number', '1e400'],
  ['two objects', LOCK + LOCK],
  ['NaN', LOCK.replace('}', ',"lease_ms":NaN}')],
  ['a comment', `/* */${LOCK}`],
  ['single quotes', LOCK.replaceAll('"', "'")],
  ['a byte order mark', `\uFEFF${LOCK}`],
  ['a control character in a string', '{"type":"update","resource_id":"held","node_id":"a\nb"}'],
  ['a stray byte', named([0xff])],
  ['an overlong NUL', named([0xc0, 0x80])],
  ['half a character', named([0xe2, 0x82])],
  ['a surrogate in UTF-8', named([0xed, 0xa0, 0x80])],
  ['UTF-16', Buffer.from(LOCK, 'utf16le')],
  ['nothing but spaces', '   '],
  ['nesting 30,000 deep', `{"requests":${nested(30_000)}}`, 'BAD_REQUEST'],
  ['prototype keys and nesting 30,000 deep', `{"__proto__":${nested(30_000)}}`],
  ['its fields in __proto__', `{"__proto__":${LOCK}}`, 'BAD_REQUEST'],
  ['its fields in constructor.prototype', `{"constructor":{"prototype":${LOCK}}}`, 'BAD_REQUEST'],
  ['an escaped __proto__', `{"\\u005f_proto__":${LOCK}}`, 'BAD_REQUEST'],
  ['nothing', '', 'BAD_REQUEST'],
];

const CONTENT_TYPES: readonly Record<string, string>[] = [
  {},
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/jsonp' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
];

export function wrongBodies(): BadCase[] {
  const cases: BadCase[] = BODIES.flatMap(([name, body, code = 'INVALID_JSON']) =>
    [false, true].map((chunked) => ({
      name: `a body that is ${name}${chunked ? ', in chunks' : ''}`,
      request: requestOf('POST', '/lock', body, { chunked }),
      status: 400,
      code,
    })),
  );
  for (const headers of CONTENT_TYPES) {
    const name = `a body sent as ${JSON.stringify(headers)}`;
    const request = requestOf('POST', '/lock', LOCK, { headers });
    cases.push({ name, request, status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
  }
  for (const [path, size] of [
    ['/lock', 65_537],
    ['/lock', 3_000_000],
    ['/lock/batch', 1_048_577],
  ] as const) {
    for (const chunked of [false, true]) {
      const name = `a body of ${size} bytes to ${path}${chunked ? ', in chunks' : ''}`;
      const request = requestOf('POST', path, padded(size), { chunked });
      cases.push({ name, request, status: 413, code: 'BODY_TOO_LARGE' });
    }
  }
  return cases;
}

const KEY_QUERY = 'type=update&resource_id=held';

const QUERIES: readonly [path: string, names?: string][] = [
  ['/lock/status', 'type'],
  ['/lock/status?type=update', 'resource_id'],
  [`/lock/status?${KEY_QUERY}&type=update`, 'type'],
  [`/lock/status?${KEY_QUERY}&resource_id=held`, 'resource_id'],
  ['/lock/status?type=update&resource_id[]=held', 'resource_id'],
  ['/lock/status?type=update&resource_id[x]=held', 'resource_id'],
  [`/lock/status?${KEY_QUERY}&node_id=`, 'node_id'],
  [`/lock/status?${KEY_QUERY}&node_id=%00`, 'node_id'],
  [`/lock/status?${KEY_QUERY}&node_id=%ED%A0%80`],
  [`/lock/status?${KEY_QUERY}&node_id=%ff`],
  [`/lock/status?${KEY_QUERY}&node_id=%`],
  [`/lock/status?${KEY_QUERY}&node_id=${'x'.repeat(257)}`, 'node_id'],
  [`/lock/status?${KEY_QUERY}&ticket=x&node_id=n`, 'ticket'],
  ['/lock/status?__proto__=x&constructor=y', 'type'],
  ['/lock/subscribe?type=update', 'resource_id'],
  [`/subscribe?${KEY_QUERY}&bind=maybe`, 'bind'],
  [`/subscribe?${KEY_QUERY}&bind=true&bind=true`, 'bind'],
  [`/subscribe?${KEY_QUERY}&bind=true`, 'node_id'],
  ['/sessions/some/events?brief=maybe', 'brief'],
  [`/subscribe?${KEY_QUERY}&node_id=a&node_id=b`, 'node_id'],
  ...['0', '-1', '1001', '1e2', 'NaN', '9007199254740993', '', '0x10'].map(
    (limit) => [`/locks?limit=${limit}`, 'limit'] as [string, string],
  ),
  ['/locks?limit=1&limit=1', 'limit'],
  ['/locks?type=a%20b', 'type'],
  [`/locks?after=${'x'.repeat(601)}`, 'after'],
  ['/refcounts', 'resource_id'],
  ['/refcounts?resource_id=a&resource_id=b', 'resource_id'],
  ['/refcounts?resource_id=%0a', 'resource_id'],
];

export function wrongQueries(): BadCase[] {
  return QUERIES.map(([path, names]) => ({
    name: `GET ${path.slice(0, 90)}`,
    request: requestOf('GET', path),
    status: 400,
    code: 'BAD_REQUEST',
    ...(names !== undefined && { names }),
  }));
}

export function wrongAddresses(): BadCase[] {
  const cases: [method: string, path: string, status: number, code: string][] = [
    ['GET', '/nothing', 404, 'NOT_FOUND'],
    ['GET', '/lock', 404, 'NOT_FOUND'],
    ['PUT', '/lock', 404, 'NOT_FOUND'],
    ['DELETE', '/locks', 404, 'NOT_FOUND'],
    ['POST', '/lock/../unlock', 404, 'NOT_FOUND'],
    ['POST', '/__proto__', 404, 'NOT_FOUND'],
    ['DELETE', '/sessions/%00', 400, 'BAD_REQUEST'],
    ['DELETE', `/sessions/${'x'.repeat(65)}`, 400, 'BAD_REQUEST'],
    ['DELETE', '/sessions/%ff', 400, 'BAD_REQUEST'],
    ['GET', '/%', 404, 'NOT_FOUND'],
    ['POST', '/sessions/unknown/renew', 403, 'SESSION_NOT_FOUND'],
    ['GET', '/sessions/__proto__/events', 403, 'SESSION_NOT_FOUND'],
  ];
  return cases.map(([method, path, status, code]) => {
    return { name: `${method} ${path.slice(0, 60)}`, request: requestOf(method, path), status, code };
  });
}

const HEAD = 'POST /lock HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n';

export function noRequests(): BadCase[] {
  const texts: [name: string, text: string, status?: number, code?: string][] = [
    ['what is no HTTP', 'LOCK IT PLEASE\r\n\r\n'],
    ['an unknown version', 'GET /locks HTTP/9.9\r\nhost: test\r\n\r\n'],
    ['a length that is no number', `${HEAD}content-length: many\r\n\r\n`],
    ['a negative length', `${HEAD}content-length: -1\r\n\r\n`],
    ['two lengths', `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ['a length beside chunks', `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk whose size is no number', `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ['a NUL in a header', `${HEAD}x: \0\r\n\r\n`],
    ['headers without end', `${HEAD}x: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
    [
      'an address without end',
      `GET /locks?after=${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
      431,
      'HEADERS_TOO_LARGE',
    ],
  ];
  return texts.map(([name, text, status = 400, code = 'MALFORMED_REQUEST']) => {
    return { name, request: Buffer.from(text, 'latin1'), status, code };
  });
}
