import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContainerdPlugin } from '../../src/containerd/index.js';
import { CODE } from '../../src/containerd/grpc/rpc-error.js';
import { ContentClient, type WriteConversation } from '../support/containerd/content-client.js';
import { digestOf } from '../support/registry/image.js';
import { ServerProcess } from '../support/server-process.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The cases of containerd's own suite for content stores, and what that suite does not ask. */

const directory = temporaryDirectory();
let server: ServerProcess;
let plugins: ContainerdPlugin[];
let client: ContentClient;
/** Of another node. */
let other: ContentClient;

beforeAll(async () => {
  server = await ServerProcess.start({ LOCK_ISOLATION: 'resource', SESSION_TTL_MS: '3000' });
  plugins = await Promise.all(['a', 'b'].map(startPlugin));
  [client, other] = ['a', 'b'].map((name) => new ContentClient(join(directory, `${name}.sock`))) as [
    ContentClient,
    ContentClient,
  ];
}, 60_000);
afterAll(async () => {
  client.close();
  other.close();
  await Promise.all(plugins.map((plugin) => plugin.stop()));
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
});

/** What the plugins told people. */
const said: string[] = [];

function startPlugin(name: string): Promise<ContainerdPlugin> {
  return ContainerdPlugin.start({
    address: join(directory, `${name}.sock`),
    root: join(directory, 'shared'),
    nodeId: name,
    serverUrls: [server.url],
    whenUnreachable: 'proceed',
    log: (line) => void said.push(`${name}: ${line}`),
  });
}

let refs = 0;
const blob = (size = 1000) => {
  const bytes = randomBytes(size);
  const digest = digestOf(bytes);
  return { bytes, digest, size, ref: `demo/${++refs}/layer-${digest}` };
};
type Blob = ReturnType<typeof blob>;

/** Up to the point where bytes are wanted, or not. */
async function begin({ ref, size }: Blob, by = client): Promise<WriteConversation> {
  const writing = by.write();
  await writing.ask({ action: 0, ref, total: size });
  await writing.stat();
  return writing;
}

async function store(one: Blob, by = client, labels = {}): Promise<void> {
  const writing = await begin(one, by);
  await writing.write(0, one.bytes);
  await writing.commit(one.size, one.digest, labels);
}

const failing = (code: number) => expect.objectContaining({ code });

describe('writing', () => {
  it.each([
    ['a path', 'sha256:../../../evil'],
    ['another algorithm', `sha512:${'a'.repeat(128)}`],
    ['upper case', `sha256:${'A'.repeat(64)}`],
  ])('refuses %s as the digest that is expected, and leaves no record of it', async (_, expected) => {
    const listed = await client.list();
    const writing = client.write();
    await expect(writing.ask({ action: 0, ref: 'odd', total: 3, expected })).rejects.toEqual(
      failing(CODE.invalidArgument),
    );
    expect(await client.list()).toEqual(listed);
    expect(existsSync(join(directory, 'evil'))).toBe(false);
  });

  it('commits what was written, and nothing is left on the way', async () => {
    const one = blob();
    const writing = client.write();
    expect(await writing.ask({ action: 0, ref: one.ref, total: one.size })).toMatchObject({ offset: 0 });
    expect(await writing.stat()).toMatchObject({ offset: 0, total: one.size });
    await expect(client.info(one.digest)).rejects.toEqual(failing(CODE.notFound));
    expect(await writing.write(0, one.bytes.subarray(0, 400))).toMatchObject({
      offset: 400,
      digest: digestOf(one.bytes.subarray(0, 400)),
    });
    expect(await client.status(one.ref)).toMatchObject({ offset: 400, total: 1000 });
    expect(await writing.write(400, one.bytes.subarray(400))).toMatchObject({ offset: 1000 });
    const done = await writing.commit(one.size, one.digest, { a: 'b' });
    expect(done).toMatchObject({ offset: 1000, digest: one.digest });
    expect(await client.info(one.digest)).toMatchObject({ size: 1000, labels: { a: 'b' } });
    await expect(client.status(one.ref)).rejects.toEqual(failing(CODE.notFound));
  });

  it('an empty blob', async () => {
    const empty = { bytes: Buffer.alloc(0), digest: digestOf(Buffer.alloc(0)), size: 0, ref: 'demo/0/empty' };
    const writing = await begin(empty);
    expect(await writing.commit(0, empty.digest)).toMatchObject({ offset: 0, digest: empty.digest });
    expect(await client.read(empty.digest)).toHaveLength(0);
  });

  it('data may come with the commit', async () => {
    const one = blob();
    const writing = await begin(one);
    await writing.ask({ action: 2, offset: 0, data: one.bytes, total: one.size, expected: one.digest });
    expect(await client.read(one.digest)).toEqual(one.bytes);
  });

  it('goes on where an interrupted stream stopped', async () => {
    const one = blob();
    const first = await begin(one);
    await first.write(0, one.bytes.subarray(0, 300));
    first.cancel();
    while (!(await isFree(one))) await delay(10);
    const second = client.write();
    const { offset } = await openAgain(second, one);
    expect(offset).toBe(300);
    expect(await second.stat()).toMatchObject({ offset: 300 });
    await second.write(300, one.bytes.subarray(300));
    await second.commit(one.size, one.digest);
    expect(await client.read(one.digest)).toEqual(one.bytes);
  });

  it('may begin again from the first byte', async () => {
    const one = blob();
    const writing = await begin(one);
    await writing.write(0, randomBytes(700));
    expect(await writing.write(0, one.bytes.subarray(0, 500))).toMatchObject({ offset: 500 });
    await writing.write(500, one.bytes.subarray(500));
    await writing.commit(one.size, one.digest);
    expect(await client.read(one.digest)).toEqual(one.bytes);
  });

  it('refuses a hole', async () => {
    const one = blob();
    const writing = await begin(one);
    await writing.write(0, one.bytes.subarray(0, 100));
    await expect(writing.write(200, one.bytes.subarray(200))).rejects.toEqual(failing(CODE.outOfRange));
  });

  it('refuses a wrong digest and a wrong size, and the ref can be written again', async () => {
    const one = blob();
    const wrong = await begin(one);
    await wrong.write(0, randomBytes(one.size));
    await expect(wrong.commit(one.size, one.digest)).rejects.toEqual(failing(CODE.failedPrecondition));
    const short = await begin(blob());
    await short.write(0, one.bytes.subarray(0, 10));
    await expect(short.commit(0, '')).rejects.toEqual(failing(CODE.failedPrecondition));
    await expect(client.info(one.digest)).rejects.toEqual(failing(CODE.notFound));
  });

  it('refuses a second writer of a ref until the first is over', async () => {
    const one = blob();
    const first = await begin(one);
    await expect(client.write().ask({ action: 0, ref: one.ref })).rejects.toEqual(failing(CODE.unavailable));
    first.end();
    while (!(await isFree(one))) await delay(10);
    await store(one);
  });

  it('refuses a stream without a ref, and announcements that contradict each other', async () => {
    await expect(client.write().stat()).rejects.toEqual(failing(CODE.invalidArgument));
    const writing = await begin(blob());
    await expect(writing.ask({ action: 1, total: 5 })).rejects.toEqual(failing(CODE.invalidArgument));
  });

  it('what is there already is committed without being written', async () => {
    const one = blob();
    await store(one);
    const again = { ...one, ref: one.ref.replace('demo/', 'other/') };
    const writing = client.write();
    await writing.ask({ action: 0, ref: again.ref, total: one.size });
    expect(await writing.stat()).toMatchObject({ offset: one.size, digest: one.digest });
    expect(await writing.commit(one.size, one.digest)).toMatchObject({
      offset: one.size,
      digest: one.digest,
    });
  });

  it('writing what is there already is refused', async () => {
    const one = blob();
    await store(one);
    const writing = await begin({ ...one, ref: one.ref.replace('demo/', 'third/') });
    await expect(writing.write(0, one.bytes)).rejects.toEqual(failing(CODE.alreadyExists));
  });
});

async function isFree({ ref }: Blob): Promise<boolean> {
  const probe = client.write();
  const isTaken = await probe.ask({ action: 0, ref }).then(
    () => false,
    () => true,
  );
  probe.end();
  return !isTaken;
}

/** The probe before it may not be over yet. */
async function openAgain(writing: WriteConversation, one: Blob) {
  for (let next = writing; ; next = client.write()) {
    try {
      const answer = await next.ask({ action: 0, ref: one.ref, total: one.size });
      Object.assign(writing, next);
      return answer;
    } catch {
      await delay(10);
    }
  }
}

describe('what is on the way', () => {
  it('is listed by ref, and aborted', async () => {
    const one = blob();
    const writing = await begin(one);
    await writing.write(0, one.bytes.subarray(0, 100));
    expect((await client.statuses()).map(({ ref }) => ref)).toContain(one.ref);
    expect(await client.statuses(`ref==${one.ref}`)).toMatchObject([
      { ref: one.ref, offset: 100, total: 1000 },
    ]);
    expect((await other.statuses()).map(({ ref }) => ref)).not.toContain(one.ref);
    await client.abort(one.ref);
    await expect(client.status(one.ref)).rejects.toEqual(failing(CODE.notFound));
    await client.abort(one.ref);
    await store(one);
  });

  it.each(['with a digest', 'without'])(
    'aborted before its bytes come, it does not go on; the ref is free (%s)',
    async (kind) => {
      const one = blob();
      const ref = kind === 'without' ? `demo/${one.digest.slice(-8)}` : one.ref;
      const writing = client.write();
      await writing.ask({ action: 0, ref, total: one.size });
      await client.abort(ref);
      await expect(writing.write(0, one.bytes)).rejects.toEqual(failing(CODE.unavailable));
      writing.cancel();
      await expect(client.status(ref)).rejects.toEqual(failing(CODE.notFound));
      await store({ ...one, ref });
    },
  );

  it('aborted while it waits for another, it is told to begin again', async () => {
    const one = blob();
    const first = await begin(one);
    const waits = client.write();
    const ref = one.ref.replace('/layer', '/2/layer');
    await waits.ask({ action: 0, ref, total: one.size });
    const waiting = expect(waits.stat()).rejects.toEqual(failing(CODE.unavailable));
    await delay(50);
    await client.abort(ref);
    await waiting;
    first.cancel();
  });
});

describe('reading', () => {
  it('any part, and not past the end', async () => {
    const one = blob(3_000_000);
    await store(one);
    expect((await client.read(one.digest)).equals(one.bytes)).toBe(true);
    for (const [offset, size] of [
      [0, 32_768],
      [1_048_000, 2000],
      [2_999_990, 100],
      [5, 0],
      [3_000_000, 10],
    ] as const) {
      const part = one.bytes.subarray(offset, size === 0 ? undefined : offset + size);
      expect((await client.read(one.digest, offset, size)).equals(part), `${offset}+${size}`).toBe(true);
    }
    await expect(client.read(one.digest, 3_000_001, 1)).rejects.toEqual(failing(CODE.outOfRange));
  });

  it('many small parts, in order and out of order', async () => {
    const one = blob(2_500_000);
    await store(one);
    const offsets = Array.from({ length: 70 }, (_, n) => n * 32_768);
    for (const offset of [...offsets, ...offsets.toReversed()])
      expect(
        (await client.read(one.digest, offset, 32_768)).equals(one.bytes.subarray(offset, offset + 32_768)),
      ).toBe(true);
  });

  it.each(['', 'sha256:ab', '../../etc/passwd', `sha512:${'0'.repeat(64)}`])('refuses %j', async (digest) => {
    await expect(client.read(digest)).rejects.toEqual(failing(CODE.invalidArgument));
    await expect(client.info(digest)).rejects.toEqual(failing(CODE.invalidArgument));
    await expect(client.delete(digest)).rejects.toEqual(failing(CODE.invalidArgument));
  });
});

describe('labels', () => {
  it('are replaced as a whole or one by one, and nothing else can be changed', async () => {
    const one = blob();
    await store(one, client, { a: '1', b: '2' });
    expect((await client.update(one.digest, { c: '3' }, 'labels.c')).labels).toEqual({
      a: '1',
      b: '2',
      c: '3',
    });
    expect((await client.update(one.digest, { a: '' }, 'labels.a')).labels).toEqual({ b: '2', c: '3' });
    expect((await client.update(one.digest, { d: '4' })).labels).toEqual({ d: '4' });
    await expect(client.update(one.digest, {}, 'size')).rejects.toEqual(failing(CODE.invalidArgument));
    await expect(client.update(blob().digest, {})).rejects.toEqual(failing(CODE.notFound));
    expect((await client.list('labels.d==4')).map(({ digest }) => digest)).toEqual([one.digest]);
    expect(await client.list('labels.d==5')).toEqual([]);
  });

  it('may be called what every object has', async () => {
    const one = blob();
    await store(one, client, { a: '1' });
    expect((await client.update(one.digest, {}, 'labels.constructor')).labels).toEqual({ a: '1' });
    const isOne = `digest==${one.digest}`;
    expect(await client.list(`${isOne},labels.constructor`)).toEqual([]);
    await client.update(one.digest, { constructor: '2' } as Record<string, string>, 'labels.constructor');
    expect(await client.list(`${isOne},labels.constructor==2`)).toHaveLength(1);
  });
});

describe('a node sees what it uses', () => {
  it('and not what others use, until it pulls it too; deleting it takes it from this node alone', async () => {
    const one = blob();
    await store(one);
    await expect(other.info(one.digest)).rejects.toEqual(failing(CODE.notFound));
    await expect(other.read(one.digest)).rejects.toEqual(failing(CODE.notFound));
    await expect(other.delete(one.digest)).rejects.toEqual(failing(CODE.notFound));
    expect((await other.list()).map(({ digest }) => digest)).not.toContain(one.digest);
    const writing = await begin(one, other);
    await writing.commit(one.size, one.digest);
    await client.delete(one.digest);
    await expect(client.info(one.digest)).rejects.toEqual(failing(CODE.notFound));
    expect(await other.read(one.digest)).toEqual(one.bytes);
    await other.delete(one.digest);
    await expect(other.read(one.digest)).rejects.toEqual(failing(CODE.notFound));
  });

  it('a write that was told "it is there" keeps it, although the node deletes it meanwhile', async () => {
    const one = blob();
    await store(one);
    const writing = await begin({ ...one, ref: one.ref.replace('demo/', 'late/') });
    await client.delete(one.digest);
    await writing.commit(one.size, one.digest);
    expect(await client.read(one.digest)).toEqual(one.bytes);
  });
});

describe('waiting', () => {
  it('happens on the second message, and ends with the success of the other', async () => {
    const one = blob();
    const first = await begin(one);
    const second = other.write();
    expect(await second.ask({ action: 0, ref: one.ref, total: one.size })).toMatchObject({ offset: 0 });
    const told = second.stat();
    await first.write(0, one.bytes.subarray(0, 999));
    expect(await Promise.race([told, delay(100, 'waits')])).toBe('waits');
    await first.write(999, one.bytes.subarray(999));
    expect(await told).toMatchObject({ offset: one.size, digest: one.digest });
    await first.commit(one.size, one.digest);
    expect(await second.commit(one.size, one.digest)).toMatchObject({ digest: one.digest });
    expect(await other.read(one.digest)).toEqual(one.bytes);
  });

  it('ends with the failure of the other, and the one who waited writes', async () => {
    const one = blob();
    const first = await begin(one);
    const second = other.write();
    await second.ask({ action: 0, ref: one.ref, total: one.size });
    const told = second.stat();
    first.end();
    expect(await told).toMatchObject({ offset: 0 });
    await second.write(0, one.bytes);
    await second.commit(one.size, one.digest);
    await expect(client.info(one.digest)).rejects.toEqual(failing(CODE.notFound));
  });
});

describe('what people are told', () => {
  it('how a blob came to be there, and what became of its bytes', async () => {
    const one = blob();
    await store(one);
    const writing = await begin(one, other);
    await writing.commit(one.size, one.digest);
    await client.delete(one.digest);
    await other.delete(one.digest);
    expect(said.filter((line) => line.includes(one.digest))).toEqual([
      `a: ${one.digest} was written, 1000 bytes.`,
      `b: ${one.digest} was there already, 1000 bytes.`,
      `a: ${one.digest} is not used by this node any more; its bytes stay, others use them.`,
      `b: ${one.digest} is not used by this node any more; its bytes are removed.`,
    ]);
  });
});
