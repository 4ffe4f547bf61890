import { connect, isIP, type Socket } from 'node:net';
import { connect as connectSecurely, TLSSocket } from 'node:tls';
import { type CancelTimer, type Clock } from '../clock.js';
import { type AnswerListener, AnswerReader } from './answer-reader.js';

/** A host that is not there does not say so: the next server is worth more than waiting longer. */
const CONNECT_WITHIN_MS = 10_000;

/** A half-open connection is noticed by the system some minutes after this; requests have time limits of their own. */
const KEEP_ALIVE_DELAY_MS = 60_000;

/** What a server keeps an idle connection for, at least, if it does not say: Node's own five seconds are the shortest known. */
const KEPT_IDLE_MS = 5000;

/** A server closes an idle connection at the very moment; what is sent by then must have arrived. */
const MARGIN_MS = 1000;

/** One that is idle for longer is closed by something on the way that says nothing. */
const LONGEST_IDLE_MS = 600_000;

/** Whoever owns a connection. */
export interface ConnectionOwner {
  /** It has had its answer, and may be asked again. */
  freed(connection: HttpConnection): void;
  gone(connection: HttpConnection): void;
}

/** One connection to a server, with at most one request under way. */
export class HttpConnection {
  private readonly socket: Socket;
  private listener: AnswerListener | undefined;
  private reader: AnswerReader | undefined;
  /** Not written before it is open: where TLS fails, a write that waits would fail in its place, and say less. */
  private first: { readonly request: string; readonly encoding: BufferEncoding } | undefined;
  private freshUntilMs = 0;
  private isOpen = false;
  private isGone = false;
  private readonly cancelTimer: CancelTimer;

  /** `memory`: what is read lies there until it has been looked at; connections may share it. */
  constructor(
    url: URL,
    memory: Buffer,
    private readonly clock: Clock,
    private readonly owner: ConnectionOwner,
  ) {
    const onread = {
      buffer: memory,
      callback: (length: number) => {
        this.take(length === memory.length ? memory : memory.subarray(0, length));
        return true;
      },
    };
    this.cancelTimer = clock.after(CONNECT_WITHIN_MS, () =>
      this.fail(new Error(`no connection within ${CONNECT_WITHIN_MS} ms`)),
    );
    this.socket = open(url, onread)
      .once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => this.opened())
      .on('error', (cause) => this.fail(cause))
      .on('end', () => this.ended())
      .on('close', () => this.fail(new Error('the connection was closed')));
  }

  /** A server does not take back what it has said of idle connections: this one is not closed just now. */
  get isFresh(): boolean {
    return this.clock.monotonicMs() < this.freshUntilMs;
  }

  /** While it is under way, the process is kept alive. */
  send(request: string, encoding: BufferEncoding, listener: AnswerListener): void {
    this.listener = listener;
    this.reader = new AnswerReader(listener);
    this.socket.ref();
    if (this.isOpen) this.socket.write(request, encoding);
    else this.first = { request, encoding };
  }

  /**
   * Whoever asked wants no answer any more. What has been asked since by others is none of its business. What has not arrived yet is
   * not to arrive any more: after a mere close the system goes on delivering it.
   */
  abandon(listener: AnswerListener): void {
    if (this.listener !== listener) return;
    this.listener = undefined;
    if (this.isOpen && !this.reader?.head && !(this.socket instanceof TLSSocket))
      this.socket.resetAndDestroy();
    this.destroy();
  }

  destroy(): void {
    this.fail(new Error('the client has closed the connection'));
  }

  private opened(): void {
    this.isOpen = true;
    this.cancelTimer();
    if (this.first) this.socket.write(this.first.request, this.first.encoding);
    this.first = undefined;
  }

  private take(bytes: Buffer): void {
    const { reader, listener } = this;
    if (!reader || !listener) return this.destroy();
    let end: number;
    try {
      end = reader.take(bytes);
    } catch (cause) {
      return this.fail(cause as Error);
    }
    if (end >= 0 && this.listener === listener) this.answered(listener, reader, end === bytes.length);
  }

  /** Free again before its listener hears of the end: that may have the next request. */
  private answered(listener: AnswerListener, reader: AnswerReader, isExact: boolean): void {
    const { keepsAlive, keepAliveMs = KEPT_IDLE_MS } = reader.head!;
    this.listener = undefined;
    this.reader = undefined;
    const keptMs = Math.min(keepAliveMs, LONGEST_IDLE_MS) - MARGIN_MS;
    if (keepsAlive && isExact && keptMs > 0) {
      this.freshUntilMs = this.clock.monotonicMs() + keptMs;
      this.socket.unref();
      this.owner.freed(this);
    } else this.destroy();
    listener.onEnd();
  }

  private ended(): void {
    const { reader, listener } = this;
    if (reader?.endsHere() && listener) {
      this.listener = undefined;
      this.destroy();
      listener.onEnd();
    } else this.fail(new Error('the connection was closed before the answer was complete'));
  }

  private fail(cause: Error): void {
    if (this.isGone) return;
    this.isGone = true;
    this.cancelTimer();
    this.socket.destroy();
    this.owner.gone(this);
    const { listener } = this;
    this.listener = undefined;
    listener?.onError(cause);
  }
}

function open(url: URL, onread: { buffer: Buffer; callback: (length: number) => boolean }): Socket {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const common = { host, onread, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS };
  if (url.protocol !== 'https:') return connect({ ...common, port: Number(url.port || 80) });
  const servername = isIP(host) ? {} : { servername: host };
  const port = Number(url.port || 443);
  return connectSecurely({ ...common, ...servername, port, ALPNProtocols: ['http/1.1'] });
}
