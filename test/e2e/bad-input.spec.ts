import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BadCase,
  HELD,
  noRequests,
  wrongAddresses,
  wrongBodies,
  wrongFields,
  wrongQueries,
} from './bad-input-cases.js';
import { BadInputServer } from './bad-input-server.js';

let server: BadInputServer;
let before: unknown[];

const state = () => server.state(['held', 'used', 'newcomer']);

beforeAll(async () => {
  server = await BadInputServer.start();
  await server.json('POST', '/lock', HELD);
  await server.json('POST', '/lock', { ...HELD, node_id: 'waiter' });
  await server.json('POST', '/refcounts/add', { resource_id: 'held', node_id: 'user' });
  await server.json('POST', '/refcounts/add', { resource_id: 'used', node_id: 'user' });
  before = await state();
}, 30_000);
afterAll(() => server.stop());

interface Refusal {
  readonly code?: string;
  readonly message?: string;
  readonly fields?: Readonly<Record<string, readonly string[]>>;
}

/** Sends it and gives what is wrong with the answer, or with what it did. */
async function complaint({ name, request, status, code, names = '' }: BadCase): Promise<string | undefined> {
  const answer = await server.send(request);
  const body = JSON.parse(answer.text) as Refusal;
  const good = answer.status === status && body.code === code && body.message?.includes(names);
  const inOneSentence = Object.values(body.fields ?? {}).every((messages) => messages.length === 1);
  if (good && inOneSentence && answer.commits === 0) return undefined;
  return `${name}: ${answer.status} ${answer.text}, ${answer.commits} commits`;
}

describe.each([
  ['fields that are missing or wrong', wrongFields()],
  ['bodies that are no JSON object, too large or of another type', wrongBodies()],
  ['queries that are incomplete, doubled or broken', wrongQueries()],
  ['addresses that lead nowhere', wrongAddresses()],
  ['bytes that are no request', noRequests()],
])('%s', (_, cases) => {
  it(`are refused with a code and a message, and change nothing (${cases.length} requests)`, async () => {
    const complaints: (string | undefined)[] = [];
    for (const bad of cases) complaints.push(await complaint(bad));
    expect(complaints.filter((text) => text !== undefined)).toEqual([]);
    expect(await state()).toEqual(before);
  });
});

describe('in a batch', () => {
  it('a bad item is refused alone, with the answer it would have had alone', async () => {
    const good = { type: 'build', resource_id: 'in-a-batch', node_id: 'n' };
    const requests = [null, 5, [good], { ...good, type: 'a b' }, { ...good, wait_ms: 5 }, good];
    const { results } = await server.json('POST', '/lock/batch', { requests });
    const statuses = (results as { status: number }[]).map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 400, 400, 400, 200]);
    await server.json('POST', '/unlock', { ...good, error: 'done' });
  });
});

describe('names that look like mischief but are names', () => {
  it.each([
    '__proto__',
    'constructor',
    'toString',
    '../../etc/passwd',
    "'; DROP TABLE locks; --",
    '💣\u200b',
  ])('lock, list, count and unlock like any other: %s', async (odd) => {
    const key = { type: 'constructor', resource_id: odd, node_id: odd };
    expect(await server.json('POST', '/lock', key)).toMatchObject({ acquired: true });
    expect(await server.json('POST', '/lock', { ...key, node_id: 'b' })).toMatchObject({ position: 1 });
    const query = new URLSearchParams({ type: 'constructor', resource_id: odd }).toString();
    expect(await server.json('GET', `/lock/status?${query}`)).toMatchObject({
      held: true,
      holder: { node_id: odd },
    });
    expect(await server.json('POST', '/unlock', key)).toMatchObject({ released: true });
    expect(await server.json('POST', '/refcounts/add', key)).toMatchObject({ count: 1 });
    expect(await server.json('POST', '/refcounts/release', key)).toMatchObject({ count: 0 });
    expect(await server.json('GET', '/locks')).toEqual(before[0]);
  });

  it('leave every prototype as it was', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
  });

  it('take a lease of -0 for 0: it never ends', async () => {
    const key = { type: 'update', resource_id: 'minus-zero', node_id: 'n' };
    expect(await server.json('POST', '/lock', { ...key, lease_ms: -0 })).toMatchObject({ lease_ms: 0 });
    await server.json('POST', '/unlock', { ...key, error: 'over' });
  });
});
