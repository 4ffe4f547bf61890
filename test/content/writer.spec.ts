import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FatalError } from '../../src/client/index.js';
import { ContentError, SourceError } from '../../src/content/index.js';
import { locksOf, untilQueued } from '../client/setup.js';
import { until } from '../support/server-bootstrap.js';
import { FaultyDisk } from './faulty-disk.js';
import { type Blob, blobOf, directoryOf, isolating, nodeOf, pull } from './setup.js';

const open = async (node: Awaited<ReturnType<typeof nodeOf>>['node'], { ref, digest, bytes }: Blob) => {
  const { writer } = await node.openWriter(ref, digest, bytes.length);
  return writer!;
};

/** Two nodes: the first writes, the second waits for it. */
async function twoNodes() {
  const server = await isolating();
  const directory = directoryOf();
  const blob = blobOf();
  const disk = new FaultyDisk();
  const first = await nodeOf(server, directory, 'first', { fileSystem: disk });
  const second = await nodeOf(server, directory, 'second');
  const writer = await open(first.node, blob);
  const next = pull(second.node, blob);
  next.catch(() => undefined);
  await untilQueued(server, 1);
  return { server, directory, blob, disk, first, second, writer, next };
}

it('A commit says of the blob what the store says of it from then on', async () => {
  const { node } = await nodeOf(await isolating(), directoryOf(), 'n1');
  const blob = blobOf();
  const writer = await open(node, blob);
  await writer.write(blob.bytes);
  expect(await writer.commit()).toEqual(await node.store.info(blob.digest));
});

describe('The next node takes over', () => {
  const failures: [string, (world: Awaited<ReturnType<typeof twoNodes>>) => Promise<unknown>, string][] = [
    ['close without commit', ({ writer }) => writer.close(), ''],
    [
      'a short body',
      ({ writer, blob }) => writer.write(blob.bytes.subarray(1)).then(() => writer.commit()),
      'TOO_SHORT',
    ],
    ['a long body', ({ writer, blob }) => writer.write(Buffer.concat([blob.bytes, blob.bytes])), 'TOO_LONG'],
    [
      'a full disk',
      ({ writer, blob, disk }) => {
        disk.failWrites('ENOSPC');
        return writer.write(blob.bytes);
      },
      'NO_SPACE',
    ],
    ['a registry that says 500', ({ writer }) => writer.close(new SourceError(500, 'bad day')), ''],
    ['a registry that says 429', ({ writer }) => writer.close(new SourceError(429, 'slowly')), ''],
    ['a connection that was cut', ({ writer }) => writer.close(new SourceError(0, 'cut')), ''],
  ];

  it.each(failures)('after %s', async (_, fail, code) => {
    const world = await twoNodes();
    const error: unknown = await fail(world).catch((reason: unknown) => reason);
    if (code) expect(error).toMatchObject({ name: 'ContentError', code });
    expect(await world.next).toBe('fetched');
    expect(await world.first.node.uses(world.blob.digest)).toBe(false);
    await expect(world.writer.write(world.blob.bytes)).rejects.toBeInstanceOf(ContentError);
    await expect(world.writer.commit()).rejects.toBeInstanceOf(ContentError);
  });

  it('after an abort, of the wait and of the writing', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const [first, second, third] = await Promise.all(
      ['a', 'b', 'c'].map((n) => nodeOf(server, directory, n)),
    );
    const writing = new AbortController();
    const waiting = new AbortController();
    const { ref, digest, bytes } = blob;
    const { writer } = await first!.node.openWriter(ref, digest, bytes.length, { signal: writing.signal });
    await writer!.write(bytes.subarray(0, 10));
    const waits = second!.node.openWriter(ref, digest, bytes.length, { signal: waiting.signal });
    waits.catch(() => undefined);
    await untilQueued(server, 1);
    const last = pull(third!.node, blob);
    await untilQueued(server, 2);
    waiting.abort(new Error('no more'));
    await expect(waits).rejects.toThrow('no more');
    writing.abort();
    expect(await last).toBe('fetched');
    await expect(writer!.write(bytes)).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('Wrong bytes that are no fault of the source', () => {
  /** The first node resumes what it has left, of which a part is not what it was; the second waits. */
  async function resumingSpoilt() {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const first = await nodeOf(server, directory, 'first');
    const second = await nodeOf(server, directory, 'second');
    const writer = await open(first.node, blob);
    await writer.write(blob.bytes.subarray(0, 600));
    await writer.close();
    const [file] = await readdir(join(directory, 'ingest'), { recursive: true }).then((names) =>
      names.filter((name) => name.endsWith('data')),
    );
    await writeFile(join(directory, 'ingest', file!), Buffer.alloc(600));
    const again = await open(first.node, blob);
    expect(again.offset).toBe(600);
    const next = pull(second.node, blob);
    next.catch(() => undefined);
    await untilQueued(server, 1);
    return { blob, first, again, next };
  }

  it('that an earlier try has left are thrown away, and the next node takes over', async () => {
    const { blob, first, again, next } = await resumingSpoilt();
    await again.write(blob.bytes.subarray(600));
    await expect(again.commit()).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    expect(await next).toBe('fetched');
    expect(await first.store.statuses('first')).toEqual([]);
  });

  it('are the fault of the source again if it was begun anew', async () => {
    const { blob, again, next } = await resumingSpoilt();
    await again.restart();
    await again.write(Buffer.alloc(blob.bytes.length));
    await expect(again.commit()).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    await expect(next).rejects.toMatchObject({ code: 'OPERATION_FAILED' });
  });

  it('but another digest is asked for at the end than was locked: the next node takes over', async () => {
    const { writer, blob, next } = await twoNodes();
    await writer.write(blob.bytes);
    await expect(writer.commit({ digest: blobOf().digest })).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
    expect(await next).toBe('fetched');
  });
});

describe('Nobody tries again', () => {
  it.each<[string, (world: Awaited<ReturnType<typeof twoNodes>>) => Promise<unknown>]>([
    [
      'wrong bytes',
      ({ writer, blob }) => writer.write(Buffer.alloc(blob.bytes.length)).then(() => writer.commit()),
    ],
    ['a registry that says 404', ({ writer }) => writer.close(new SourceError(404, 'no such blob'))],
    ['what a caller marks as fatal', ({ writer }) => writer.close(new FatalError('never'))],
  ])('after %s', async (_, fail) => {
    const world = await twoNodes();
    await fail(world).catch(() => undefined);
    await expect(world.next).rejects.toMatchObject({ code: 'OPERATION_FAILED' });
    expect(await world.second.store.has(world.blob.digest)).toBe(false);
    expect(await world.first.store.statuses('first')).toEqual([]);
  });
});

describe('A writer', () => {
  it('says in the error what was wrong', async () => {
    const { node } = await nodeOf(await isolating(), directoryOf());
    const blob = blobOf('right');
    const writer = await open(node, blob);
    await writer.write(Buffer.from('wrong'));
    await expect(writer.commit()).rejects.toThrow(`expected ${blob.digest}, got ${blobOf('wrong').digest}`);
  });

  it('goes on where the last one of its node stopped, with the digest of the bytes on disk', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const { node, store } = await nodeOf(server, directory);
    const writer = await open(node, blob);
    await writer.write(blob.bytes.subarray(0, 400));
    await writer.close();
    expect(await store.status('n1', blob.ref)).toMatchObject({
      offset: 400,
      total: 1000,
      digest: blob.digest,
    });
    const again = await open((await nodeOf(server, directory)).node, blob);
    expect(again.offset).toBe(400);
    expect(again.token).toBeGreaterThan(writer.token);
    await again.write(blob.bytes.subarray(400));
    await again.commit();
    expect(await store.read(blob.digest, 0, 1000)).toEqual(blob.bytes);
    expect(await store.statuses('n1')).toEqual([]);
  });

  it('is not harmed by a paused writer of its own node that goes on writing into what it had', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const { node, store } = await nodeOf(server, directory);
    const other = await nodeOf(server, directory);
    const about = { ref: blob.ref, nodeId: 'n1', digest: blob.digest, total: 1000 };
    const paused = await other.store.begin({ ...about, token: 1 });
    await paused.write(blob.bytes.subarray(0, 400));
    const writer = await open(node, blob);
    expect(writer.offset).toBe(400);
    await paused.write(Buffer.alloc(600));
    await writer.write(blob.bytes.subarray(400));
    await paused.finish();
    await writer.commit();
    expect(await store.read(blob.digest, 0, 1000)).toEqual(blob.bytes);
    await expect(other.store.publish(paused, false, async () => undefined)).rejects.toMatchObject({
      code: 'IO',
    });
    expect(await store.read(blob.digest, 0, 1000)).toEqual(blob.bytes);
  });

  it('begins anew after `abort`', async () => {
    const { node, store } = await nodeOf(await isolating(), directoryOf());
    const blob = blobOf();
    const writer = await open(node, blob);
    await writer.write(blob.bytes.subarray(0, 400));
    await writer.close();
    await store.abort('n1', blob.ref);
    expect(await store.statuses('n1')).toEqual([]);
    expect((await open(node, blob)).offset).toBe(0);
  });

  it('without a digest locks when it knows what the bytes are, and skips what is there', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const { node, store } = await nodeOf(server, directory);
    const blob = blobOf();
    for (const ref of ['one', 'two']) {
      const { writer } = await node.openWriter(ref, undefined);
      expect(await locksOf(server)).toEqual([]);
      await writer!.write(blob.bytes);
      expect(await writer!.commit({ size: 1000 })).toMatchObject({ digest: blob.digest, size: 1000 });
    }
    expect(await node.uses(blob.digest)).toBe(true);
    expect(await store.statuses('n1')).toEqual([]);
    const { writer } = await node.openWriter('three', undefined);
    await writer!.write(blob.bytes);
    await expect(writer!.commit({ digest: blobOf().digest })).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
    });
  });

  it('is one for a ref in a process', async () => {
    const { node } = await nodeOf(await isolating(), directoryOf());
    const { writer } = await node.openWriter('ref', undefined);
    await expect(node.openWriter('ref', undefined)).rejects.toMatchObject({ code: 'REF_BUSY' });
    await writer!.close();
  });

  it('asks again, saying that the bytes are absent, where the server says skip and there are none', async () => {
    const server = await isolating();
    const { node, store, client } = await nodeOf(server, directoryOf());
    const blob = blobOf();
    await client.refs.add(blob.digest, 'somebody');
    expect(await pull(node, blob)).toBe('fetched');
    expect(await store.has(blob.digest)).toBe(true);
  });

  it('is not needed where the bytes turn up while the lock is asked for: that is success for everybody', async () => {
    const server = await isolating();
    const directory = directoryOf();
    const blob = blobOf();
    const { node } = await nodeOf(server, directory, 'a');
    const elsewhere = directoryOf();
    await pull((await nodeOf(await isolating(), elsewhere, 'x')).node, blob);
    const other = await nodeOf(server, directory, 'b');
    const writer = await open(other.node, blob);
    const waits = pull(node, blob);
    await untilQueued(server, 1);
    const ingest = await other.store.begin({ ref: 'behind the back', nodeId: 'z', token: 0 });
    await ingest.write(blob.bytes);
    await other.store.publish(ingest, false, async () => undefined);
    await writer.close();
    expect(await waits).toBe('skipped');
    expect(await node.uses(blob.digest)).toBe(true);
    await until(async () => (await locksOf(server)).length === 0);
  });

  it.skipIf(process.getuid?.() === 0)('says that a directory may not be written to', async () => {
    const directory = directoryOf();
    const { node } = await nodeOf(await isolating(), directory);
    await chmod(join(directory, 'ingest'), 0o500);
    await expect(open(node, blobOf())).rejects.toMatchObject({ code: 'NOT_WRITABLE' });
  });

  it.each(['EROFS', 'EACCES'])(
    'says that a file system may not be written to (%s), and passes the lock on',
    async (code) => {
      const server = await isolating();
      const directory = directoryOf();
      const disk = new FaultyDisk();
      const { node } = await nodeOf(server, directory, 'a', { fileSystem: disk });
      disk.onStep = async () => {
        throw Object.assign(new Error(`${code}: read-only`), { code });
      };
      const blob = blobOf();
      await expect(pull(node, blob)).rejects.toMatchObject({ code: 'NOT_WRITABLE' });
      expect(await pull((await nodeOf(server, directory, 'b')).node, blob)).toBe('fetched');
    },
  );

  it.each([
    '../../etc/passwd',
    'sha256:../../../../etc/passwd',
    `sha256:${'A'.repeat(64)}`,
    `sha256:${'a'.repeat(63)}/`,
    `sha256:${'a'.repeat(64)}\n`,
    `sha512:${'a'.repeat(64)}`,
    '',
  ])('refuses %j as a digest before it touches the disk or the server', async (digest) => {
    const server = await isolating();
    const disk = new FaultyDisk();
    const { node, store } = await nodeOf(server, directoryOf(), 'a', { fileSystem: disk });
    const steps = disk.steps.length;
    const refused = { name: 'ContentError', code: 'INVALID_DIGEST' };
    await expect(node.openWriter('ref', digest, 1)).rejects.toMatchObject(refused);
    await expect(node.delete(digest)).rejects.toMatchObject(refused);
    await expect(node.use(digest)).rejects.toMatchObject(refused);
    for (const attempt of [
      store.has(digest),
      store.info(digest),
      store.open(digest),
      store.read(digest, 0, 1),
    ])
      await expect(attempt).rejects.toMatchObject(refused);
    expect(disk.steps.length).toBe(steps);
    expect(await locksOf(server)).toEqual([]);
  });

  it.each(['..', '../../escape', '/etc', 'a/../../b', 'n'.repeat(256), '层'.repeat(256), '\u0000'])(
    'keeps node ids and refs like %j inside its directory',
    async (name) => {
      const directory = directoryOf();
      const { store } = await nodeOf(await isolating(), directory);
      const ingest = await store.begin({ ref: name, nodeId: name, token: 7 });
      await ingest.write(Buffer.from('x'));
      await ingest.close();
      expect(await store.statuses(name)).toMatchObject([{ ref: name, offset: 1 }]);
      expect((await readdir(directory)).toSorted()).toEqual([
        'blobs',
        'deleting',
        'ingest',
        'tokens',
        'trash',
      ]);
      expect(await readdir(join(directory, 'ingest'))).toHaveLength(1);
      await store.abort(name, name);
      expect(await store.statuses(name)).toEqual([]);
    },
  );
});
