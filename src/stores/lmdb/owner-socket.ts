import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { type Server, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { StoreError } from '../store.error.js';

const SOCKET = 'owner.sock';

/** The name of our socket, or of one that is about to become it. */
export function isOwnerSocket(name: string): boolean {
  return /^owner(-[0-9a-f]+)?\.sock$/.test(name);
}

/**
 * A listening unix socket that marks a directory as in use. Unlike a pid file it cannot outlive its process:
 * nobody answers at the socket of a killed one, whatever has since become of its pid, and it works between
 * containers that share only the directory.
 *
 * Promises: while the owner lives, later claims are refused, those of its own process too; a socket nobody
 * answers at is taken over. Does not promise exclusion between two processes that take over the same dead
 * socket at the same moment: that is why every write is fenced as well.
 */
export class OwnerSocket {
  private constructor(
    private readonly directory: string,
    private readonly directoryFile: number,
    private readonly server: Server,
    private readonly inode: number,
  ) {}

  static async claim(directory: string): Promise<OwnerSocket> {
    const directoryFile = openSync(directory, 'r');
    const own = `owner-${randomBytes(8).toString('hex')}.sock`;
    let server: Server | undefined;
    try {
      server = await listen(address(directory, directoryFile, own));
      const { ino } = statSync(join(directory, own));
      await takeName(directory, directoryFile, own);
      return new OwnerSocket(directory, directoryFile, server, ino);
    } catch (error) {
      await close(server);
      closeSync(directoryFile);
      throw error;
    }
  }

  /** Throws once another process has taken over a socket it believed dead. */
  assertCurrent(): void {
    if (!this.isCurrent()) throw inUse(this.directory);
  }

  async release(): Promise<void> {
    if (this.isCurrent()) rmSync(join(this.directory, SOCKET), { force: true });
    await close(this.server);
    closeSync(this.directoryFile);
  }

  private isCurrent(): boolean {
    return statSync(join(this.directory, SOCKET), { throwIfNoEntry: false })?.ino === this.inode;
  }
}

/**
 * Gives the listening socket the name that counts. It listens before it is named, so that nobody ever finds
 * the socket of a living owner and is refused.
 */
async function takeName(directory: string, directoryFile: number, own: string): Promise<void> {
  for (;;) {
    try {
      linkSync(join(directory, own), join(directory, SOCKET));
      return rmSync(join(directory, own));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const answer = await knock(address(directory, directoryFile, SOCKET));
    if (answer === 'ECONNREFUSED') return renameSync(join(directory, own), join(directory, SOCKET));
    if (answer !== 'ENOENT') throw inUse(directory);
  }
}

function inUse(directory: string): StoreError {
  return new StoreError(
    'STORE_IN_USE',
    'open',
    `Another process serves the state in ${directory}. Stop it first, or choose another directory with STORE_URL=file:DIR.`,
  );
}

/** A unix address holds about a hundred bytes; through the open directory any path is short enough on Linux. */
function address(directory: string, directoryFile: number, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${directoryFile}/${name}` : join(directory, name);
}

/** `answered`, or the code of the error. */
function knock(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve('answered');
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(path, () => resolve(server.unref()));
  });
}

function close(server: Server | undefined): Promise<void> {
  return new Promise((resolve) => (server ? server.close(() => resolve()) : resolve()));
}
