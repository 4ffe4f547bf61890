import { type Http2Stream, type StreamListener } from '../http2/http2-stream.js';
import { ANSWER_HEADERS, OK, type RpcStatus, trailersOf, trailersOnly } from './answer-headers.js';
import { type MessageMemory } from './message-memory.js';
import { MessageReader, PREFIX_BYTES } from './message-reader.js';
import { type ReceiveBudget } from './receive-budget.js';
import { CODE, RpcError } from './rpc-error.js';

/** More is not taken from a client while as many bytes of its messages wait to be handled. */
const MAX_QUEUED_BYTES = 1 << 20;

/** Empty messages have no bytes to be counted. Nobody who waits for answers has as many under way. */
const MAX_QUEUED_MESSAGES = 16_384;

/** A message that came in one piece keeps all that came with it, up to 64 KB: one that must wait and is smaller is copied. */
const MAX_COPIED_BYTES = 4096;

/** What a message takes beside its bytes. */
const MESSAGE_OBJECT_BYTES = 256;

export interface CallLimits {
  readonly maxMessageBytes: number;
  readonly memory: MessageMemory;
  readonly budget: ReceiveBudget;
}

/** One call: messages in, messages out, a status at the end. When it is over, nothing that is sent goes anywhere. */
export class GrpcCall implements StreamListener {
  /** Called at once, before anything else that the client has sent is looked at, when the next message is waited for in vain. */
  onLast: (() => void) | undefined;
  private readonly reader: MessageReader;
  private readonly queue: Buffer[] = [];
  private queuedBytes = 0;
  /** Received, and not yet told to be taken. */
  private heldBytes = 0;
  /** Of the budget: what has come, until nobody looks at it any more. */
  private keptBytes = 0;
  /** The part of it that is being handled. */
  private handledBytes = 0;
  private isComplete = false;
  private isAnswered = false;
  private over = false;
  /** Somebody waits for a message. */
  private wake: (() => void) | undefined;
  private aborter: AbortController | undefined;

  constructor(
    private readonly stream: Http2Stream,
    private readonly limits: CallLimits,
    private readonly onOver: () => void,
  ) {
    const take = (bytes: number) => limits.memory.take(bytes);
    this.reader = new MessageReader(limits.maxMessageBytes, (message) => this.queueUp(message), take);
  }

  /** It was answered, cancelled or too late. */
  get isOver(): boolean {
    return this.over;
  }

  /** Aborts when the call is over and has not ended well. */
  get signal(): AbortSignal {
    this.aborter ??= new AbortController();
    return this.aborter.signal;
  }

  /** The next message; `undefined` if there is none, or nobody who wants an answer. */
  async next(): Promise<Buffer | undefined> {
    this.letGoOfHandled();
    while (this.queue.length === 0 && !this.isComplete && !this.over)
      await new Promise<void>((resolve) => (this.wake = resolve));
    if (this.over) return undefined;
    const message = this.queue.shift();
    if (!message) return undefined;
    this.queuedBytes -= message.length;
    this.handledBytes = PREFIX_BYTES + message.length + MESSAGE_OBJECT_BYTES;
    this.takeHeld();
    return message;
  }

  /** Nobody looks at the message any more: its memory is used for others. */
  release(message: Buffer): void {
    this.limits.memory.give(message);
  }

  /** The message of a call that has one. */
  async only(): Promise<Buffer> {
    const message = await this.next();
    if (message) return message;
    throw new RpcError(CODE.internal, 'The request has no message.');
  }

  /** A promise, if the client is slower. The message is its parts, one after the other; they must not change any more. */
  send(...parts: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.over) return undefined;
    if (!this.isAnswered) this.stream.headers(ANSWER_HEADERS);
    this.isAnswered = true;
    return this.stream.write([prefixOf(parts), ...parts]);
  }

  /** Nothing is done for the call any more, whoever ended it. */
  finish(status: RpcStatus = OK): void {
    this.letGoOfHandled();
    if (this.over) return;
    this.end(status !== OK);
    this.stream.end(this.isAnswered ? trailersOf(status) : trailersOnly(status));
  }

  data(payload: Buffer): void {
    if (this.over) return;
    this.heldBytes += payload.length;
    try {
      this.keep(payload.length);
      this.reader.push(payload);
      this.takeHeld();
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.finish(error);
    }
  }

  ended(): void {
    this.isComplete = true;
    if (this.reader.isInside) this.finish(new RpcError(CODE.internal, 'The request ends within a message.'));
    else this.wakeInVain();
  }

  cut(): void {
    if (!this.over) this.end(true);
  }

  private queueUp(message: Buffer): void {
    if (this.queue.length === MAX_QUEUED_MESSAGES)
      throw new RpcError(CODE.resourceExhausted, 'Too many messages wait to be handled.');
    this.keep(MESSAGE_OBJECT_BYTES);
    this.queue.push(this.wake ? message : this.keepable(message));
    this.queuedBytes += message.length;
    this.wakeReader();
  }

  private keepable(message: Buffer): Buffer {
    if (message.length > MAX_COPIED_BYTES) return message;
    const copy = Buffer.from(message);
    this.release(message);
    return copy;
  }

  private takeHeld(): void {
    if (this.queuedBytes > MAX_QUEUED_BYTES) return;
    this.stream.take(this.heldBytes);
    this.heldBytes = 0;
  }

  private keep(bytes: number): void {
    this.limits.budget.take(bytes);
    this.keptBytes += bytes;
  }

  private letGo(bytes: number): void {
    this.limits.budget.give(bytes);
    this.keptBytes -= bytes;
  }

  private letGoOfHandled(): void {
    this.letGo(this.handledBytes);
    this.handledBytes = 0;
  }

  private end(isCutShort: boolean): void {
    this.over = true;
    this.queue.length = 0;
    this.letGo(this.keptBytes - this.handledBytes);
    this.onOver();
    this.wakeInVain();
    if (isCutShort) this.aborter?.abort();
  }

  private wakeInVain(): void {
    if (this.wake) this.onLast?.();
    this.wakeReader();
  }

  private wakeReader(): void {
    this.wake?.();
    this.wake = undefined;
  }
}

function prefixOf(parts: readonly Uint8Array[]): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix[0] = 0;
  prefix.writeUInt32BE(
    parts.reduce((length, part) => length + part.length, 0),
    1,
  );
  return prefix;
}
