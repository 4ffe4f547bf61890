import { Readable } from 'node:stream';
import { type Clock } from '../client/index.js';
import { type AnswerHead } from '../client/http/answer-head.js';
import { HttpPool } from '../client/http/http-pool.js';

/** Whoever looks on and is this far behind, in a terminal that was stopped for instance, begins anew instead. */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024;

export interface StreamedAnswer {
  readonly head: AnswerHead;
  /** Destroying it closes the connection. */
  readonly body: Readable;
}

/** The answer to a GET as soon as its head is there. Rejects where that takes too long. */
export function answerStream(url: URL, clock: Clock, headWithinMs: number): Promise<StreamedAnswer> {
  return new Promise((resolve, reject) => {
    const pool = new HttpPool(url, clock);
    const body = new Readable({
      read: () => undefined,
      destroy: (error, done) => {
        pool.close();
        done(error);
      },
    });
    const cancelTimer = clock.after(headWithinMs, () => {
      reject(new Error(`no answer within ${headWithinMs} ms`));
      pool.close();
    });
    let isOpen = false;
    pool.send(
      { method: 'GET', path: url.pathname + url.search, accept: 'text/event-stream' },
      {
        onHead: (head) => {
          cancelTimer();
          isOpen = true;
          resolve({ head, body });
        },
        onData: (bytes) => {
          if (body.destroyed) return;
          body.push(Buffer.from(bytes));
          if (body.readableLength > MOST_UNREAD_BYTES) body.destroy(new Error('too much came to be read'));
        },
        onEnd: () => void body.push(null),
        onError: (cause) => {
          cancelTimer();
          if (isOpen) body.destroy(cause);
          else reject(cause);
        },
      },
    );
  });
}
