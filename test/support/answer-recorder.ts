import { type AnswerHead } from '../../src/client/http/answer-head.js';
import { type AnswerListener } from '../../src/client/http/answer-reader.js';

/** Notes what it is told, and everything it must not be told: more than one end, or anything after it. */
export class AnswerRecorder implements AnswerListener {
  head: AnswerHead | undefined;
  /** Of `onEnd` or `onError`, once there was one. */
  end: 'end' | Error | undefined;
  readonly mistakes: string[] = [];
  /** Resolves with the body, rejects with the cause. */
  readonly body: Promise<Buffer>;
  /** Called on every word. */
  onWord: (word: 'head' | 'data' | 'end' | 'error') => void = () => {};
  private readonly pieces: Buffer[] = [];
  private resolve!: (body: Buffer) => void;
  private reject!: (cause: Error) => void;

  constructor() {
    this.body = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.body.catch(() => {});
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }

  get pieceCount(): number {
    return this.pieces.length;
  }

  get text(): Promise<string> {
    return this.body.then(String);
  }

  /** Why there was no answer. */
  get failure(): Promise<Error> {
    return this.body.then(
      (body) => {
        throw new Error(`there was an answer: ${body.toString()}`);
      },
      (cause: Error) => cause,
    );
  }

  onHead(head: AnswerHead): void {
    this.note('head', this.head !== undefined);
    this.head = head;
    this.onWord('head');
  }

  onData(bytes: Buffer): void {
    this.note('data', this.head === undefined || bytes.length === 0);
    this.pieces.push(Buffer.from(bytes));
    this.onWord('data');
  }

  onEnd(): void {
    this.note('end', this.head === undefined);
    this.end = 'end';
    this.resolve(this.bytes);
    this.onWord('end');
  }

  onError(cause: Error): void {
    this.note('error', false);
    this.end = cause;
    this.reject(cause);
    this.onWord('error');
  }

  private note(word: string, isOutOfPlace: boolean): void {
    if (isOutOfPlace || this.end !== undefined) this.mistakes.push(word);
  }
}
