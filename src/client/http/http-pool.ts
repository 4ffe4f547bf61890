import { type Clock } from '../clock.js';
import { type AnswerListener } from './answer-reader.js';
import { type ConnectionOwner, HttpConnection } from './http-connection.js';

/** What a read brings at most; a batch of 256 answers is longer, and comes in pieces. */
const MEMORY_BYTES = 64 * 1024;

/** One for all connections of the process: what has been read is looked at before anything else is read. */
const MEMORY = Buffer.allocUnsafeSlow(MEMORY_BYTES);

export interface HttpRequest {
  readonly method: string;
  /** As it is sent, with its query. */
  readonly path: string;
  /** JSON. */
  readonly body?: string | undefined;
  readonly accept?: string;
}

/** A request from sending to its end; `connection`: once it has one. */
interface UnderWay {
  readonly text: string;
  readonly encoding: BufferEncoding;
  readonly listener: AnswerListener;
  connection: HttpConnection | undefined;
}

export type Abandon = () => void;

/**
 * Connections to one server, kept while they are of use. Promises that every listener hears of exactly one end, unless it
 * abandons its request; a request is sent once. Does not promise that an answer comes at all: time limits are the caller's.
 */
export class HttpPool implements ConnectionOwner {
  private readonly head: string;
  private readonly idle: HttpConnection[] = [];
  private readonly connections = new Set<HttpConnection>();
  private readonly waiting = new Set<UnderWay>();
  private isClosed = false;

  /** `limit`: of connections; what comes beyond it waits for one. */
  constructor(
    private readonly url: URL,
    private readonly clock: Clock,
    private readonly limit = Infinity,
  ) {
    this.head = ` HTTP/1.1\r\nhost: ${url.host}\r\n`;
  }

  send(request: HttpRequest, listener: AnswerListener): Abandon {
    const { text, isAscii } = textOf(request, this.head);
    const encoding = isAscii ? 'latin1' : 'utf8';
    const underWay: UnderWay = { text, encoding, listener, connection: undefined };
    if (!this.isClosed) this.start(underWay);
    else {
      this.waiting.add(underWay);
      queueMicrotask(() => this.close());
    }
    return () => this.abandon(underWay);
  }

  /** Whoever waits for an answer hears that none will come. */
  close(): void {
    this.isClosed = true;
    for (const connection of [...this.connections]) connection.destroy();
    for (const underWay of [...this.waiting])
      if (this.waiting.delete(underWay)) underWay.listener.onError(new Error('the client is closed'));
  }

  freed(connection: HttpConnection): void {
    const [next] = this.waiting;
    if (!next) return void this.idle.push(connection);
    this.waiting.delete(next);
    this.sendBy(connection, next);
  }

  gone(connection: HttpConnection): void {
    this.connections.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    const [next] = this.waiting;
    if (!next || this.isClosed) return;
    this.waiting.delete(next);
    this.start(next);
  }

  private start(underWay: UnderWay): void {
    const connection = this.freshest() ?? this.another();
    if (connection) this.sendBy(connection, underWay);
    else this.waiting.add(underWay);
  }

  private sendBy(connection: HttpConnection, underWay: UnderWay): void {
    underWay.connection = connection;
    connection.send(underWay.text, underWay.encoding, underWay.listener);
  }

  /** The one that was used last; those that were not used for longer are not fresh either. */
  private freshest(): HttpConnection | undefined {
    for (;;) {
      const connection = this.idle.pop();
      if (!connection || connection.isFresh) return connection;
      connection.destroy();
    }
  }

  private another(): HttpConnection | undefined {
    if (this.connections.size >= this.limit) return undefined;
    const connection = new HttpConnection(this.url, MEMORY, this.clock, this);
    this.connections.add(connection);
    return connection;
  }

  private abandon(underWay: UnderWay): void {
    if (underWay.connection) underWay.connection.abandon(underWay.listener);
    else this.waiting.delete(underWay);
  }
}

/** Anything else in a path would end the line it stands in. */
const UNCLEAN = /[^\x21-\x7e]/;

function textOf(
  { method, path, body, accept }: HttpRequest,
  head: string,
): { text: string; isAscii: boolean } {
  if (UNCLEAN.test(path)) throw new TypeError('A path must be encoded.');
  const accepted = accept === undefined ? '' : `accept: ${accept}\r\n`;
  if (body === undefined) {
    const length = method === 'POST' ? 'content-length: 0\r\n' : '';
    return { text: `${method} ${path}${head}${accepted}${length}\r\n`, isAscii: true };
  }
  const bytes = Buffer.byteLength(body);
  const text = `${method} ${path}${head}${accepted}content-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n${body}`;
  return { text, isAscii: bytes === body.length };
}
