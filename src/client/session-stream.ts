import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type Clock } from './clock.js';
import { type AnswerHead } from './http/answer-head.js';
import { type AnswerListener } from './http/answer-reader.js';
import { type Abandon } from './http/http-pool.js';
import { isRecord, type Json } from './reply.js';
import { type Session } from './session.js';
import { heartbeatIn, Silence } from './silence.js';
import { type StreamOpener } from './transport.js';

/** A server that is there answers with headers and snapshot at once; a proxy that keeps them back never does. */
const SNAPSHOT_WITHIN_MS = 3000;

/** After a stream that gave nothing: something on the way does not let streams through, and that may last. */
const AFTER_SILENCE_MS = 30_000;

/** After one that was refused or cut: a server that restarts is back in about this time. */
const AFTER_FAILURE_MS = 1000;

/** No event of Holdfast is near this long. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024;

/** Of all events of a snapshot together: a hundred thousand waits with names of usual length. */
const MAX_SNAPSHOT_LENGTH = 64 * 1024 * 1024;

export interface StreamListener {
  /** All events of it, once the last has come. */
  snapshot(session: Session, parts: readonly Json[]): void;
  event(session: Session, name: string, data: Json): void;
  /** Nothing will be heard until the stream is open again. */
  down(): void;
  /** The server does not know the session, or something on the way forbids streams. */
  refused(session: Session): void;
}

/** The session's event stream: opened when somebody needs it, watched for silence, and opened again when needed again. */
export class SessionStream {
  private connection: Connection | undefined;
  private notBeforeMs = -Infinity;

  constructor(
    private readonly transport: StreamOpener,
    private readonly clock: Clock,
    /** Of a server that does not tell it. */
    private readonly heartbeatMs: number,
    private readonly listener: StreamListener,
  ) {}

  /** Whether what happens to the session is being heard. Opens the stream unless it has just failed. */
  isHeard(session: Session): Promise<boolean> {
    if (this.connection && this.connection.session !== session) this.close();
    if (!this.connection && this.clock.monotonicMs() < this.notBeforeMs) return Promise.resolve(false);
    this.connection ??= this.open(session);
    return this.connection.isLive;
  }

  /** What kept it from being heard may have ended with its session. */
  close(): void {
    this.connection?.end();
    this.connection = undefined;
    this.notBeforeMs = -Infinity;
  }

  private open(session: Session): Connection {
    const connection = new Connection(session, this.clock, this.heartbeatMs, this.listener, (delayMs) => {
      if (this.connection !== connection) return;
      this.connection = undefined;
      this.notBeforeMs = this.clock.monotonicMs() + delayMs;
      if (delayMs > 0) this.transport.moveOn();
      this.listener.down();
    });
    const path = `/sessions/${encodeURIComponent(session.id)}/events?brief=true`;
    connection.abandon = this.transport.open(path, connection);
    return connection;
  }
}

/** One connection, from opening to its end; `onDown` says how long to leave streams alone. */
class Connection implements AnswerListener {
  readonly isLive: Promise<boolean>;
  private setLive!: (isLive: boolean) => void;
  /** Once it has been sent. */
  abandon: Abandon | undefined;
  private readonly decoder = new TextDecoder();
  private readonly parser = createParser({
    onEvent: (message) => this.take(message),
    maxBufferSize: MAX_EVENT_LENGTH,
  });
  private isOver = false;
  private readonly snapshot: Json[] = [];
  private snapshotLength = 0;
  private hasSnapshot = false;
  private readonly silence: Silence;
  private readonly openedMs: number;

  constructor(
    readonly session: Session,
    private readonly clock: Clock,
    private readonly heartbeatMs: number,
    private readonly listener: StreamListener,
    private readonly onDown: (leaveForMs: number) => void,
  ) {
    this.isLive = new Promise((resolve) => (this.setLive = resolve));
    this.openedMs = clock.monotonicMs();
    this.silence = new Silence(clock, SNAPSHOT_WITHIN_MS, () => this.down(AFTER_SILENCE_MS));
  }

  /** Ends it for good, without a word. */
  end(): void {
    this.isOver = true;
    this.silence.stop();
    this.setLive(false);
    this.abandon?.();
  }

  onHead({ status, contentType }: AnswerHead): void {
    const isStream = contentType.startsWith('text/event-stream');
    if (status !== 200 || !isStream) this.down(AFTER_SILENCE_MS);
    if (status === 403) this.listener.refused(this.session);
  }

  onData(bytes: Buffer): void {
    if (this.isOver) return;
    if (this.hasSnapshot) this.silence.heard();
    this.parser.feed(this.decoder.decode(bytes, { stream: true }));
  }

  onEnd(): void {
    this.cut();
  }

  onError(): void {
    this.cut();
  }

  /** One that was open for a while is opened again at once. */
  private cut(): void {
    const wasOpenMs = this.clock.monotonicMs() - this.openedMs;
    this.down(this.hasSnapshot && wasOpenMs > AFTER_FAILURE_MS ? 0 : AFTER_FAILURE_MS);
  }

  private down(leaveForMs: number): void {
    if (this.isOver) return;
    this.end();
    this.onDown(leaveForMs);
  }

  /** Of several that came together, each may end it. */
  private take({ event, data }: EventSourceMessage): void {
    if (this.isOver) return;
    const json = parsed(data);
    if (!json || event === undefined) return this.down(AFTER_SILENCE_MS);
    if (event !== 'snapshot') return this.listener.event(this.session, event, json);
    this.takeSnapshot(json, data.length);
  }

  /** A server that says nothing of `more` has said all. */
  private takeSnapshot(part: Json, length: number): void {
    this.hasSnapshot = true;
    this.silence.expectEvery(heartbeatIn(part, this.heartbeatMs));
    this.snapshotLength += length;
    if (this.snapshotLength > MAX_SNAPSHOT_LENGTH) return this.down(AFTER_SILENCE_MS);
    this.snapshot.push(part);
    if (part['more'] === true) return;
    this.listener.snapshot(this.session, this.snapshot.splice(0));
    this.setLive(true);
  }
}

function parsed(data: string): Json | undefined {
  try {
    const json: unknown = JSON.parse(data);
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
