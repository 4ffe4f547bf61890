import { once } from 'node:events';
import { lstat, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** Longer paths do not fit into the address of a socket. */
const MAX_PATH_BYTES = 107;

export class SocketError extends Error {
  override readonly name = 'SocketError';
  readonly code = 'SOCKET';
}

/**
 * Makes room for a socket: what a dead process has left is removed, a living one is not disturbed. Its directory is made where
 * there is none: `/run` is empty after every start of the machine.
 */
export async function clearSocket(path: string): Promise<void> {
  await assertUnserved(path);
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
}

/** Throws `SocketError` if a socket cannot be there, or somebody serves it. Changes nothing. */
export async function assertUnserved(path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw new SocketError(`${path} is too long for a socket: at most ${MAX_PATH_BYTES} bytes.`);
  const there = await lstat(path).catch(() => undefined);
  if (!there) return;
  if (!there.isSocket())
    throw new SocketError(`${path} is there and is no socket. Choose another --address.`);
  if (await isServed(path))
    throw new SocketError(`${path} is served by another process. Stop it, or choose another --address.`);
}

/** What a socket says that nobody listens on, or that has gone meanwhile. One that hangs says EAGAIN, when enough others wait. */
const DEAD: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT']);

async function isServed(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    return !DEAD.has((error as NodeJS.ErrnoException).code);
  } finally {
    socket.destroy();
  }
}
