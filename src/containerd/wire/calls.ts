import { once } from 'node:events';
import {
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerDuplexStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import {
  ACTION,
  type Info,
  type ReadRequest,
  type ReadResponse,
  type Status,
  type UpdateRequest,
  type WriteRequest,
  type WriteResponse,
} from './messages.js';
import { statusOf } from './status-of.js';

/** The service as its calls: a request in, an answer or several out, an `RpcError` thrown. */
export interface ServiceCalls {
  info(request: { digest: string }): Promise<{ info: Info }>;
  update(request: UpdateRequest): Promise<{ info: Info }>;
  list(request: { filters: string[] }): AsyncIterable<{ info: Info[] }>;
  delete(request: { digest: string }): Promise<object>;
  read(request: ReadRequest): AsyncIterable<ReadResponse>;
  status(request: { ref: string }): Promise<{ status: Status }>;
  listStatuses(request: { filters: string[] }): Promise<{ statuses: Status[] }>;
  /** One for each stream. */
  write(signal: AbortSignal): WriteCall;
  abort(request: { ref: string }): Promise<object>;
}

export interface WriteCall {
  answer(request: WriteRequest): Promise<WriteResponse>;
  /** The stream is over, whoever ended it and however. */
  close(): Promise<void>;
}

export function unary<Q, A>(call: (request: Q) => Promise<A>): handleUnaryCall<Q, A> {
  return ({ request }, callback) => {
    call(request).then(
      (answer) => callback(null, answer),
      (error: unknown) => callback(statusOf(error)),
    );
  };
}

export function streaming<Q, A>(call: (request: Q) => AsyncIterable<A>): handleServerStreamingCall<Q, A> {
  return (stream) => {
    sendAll(stream, call(stream.request)).then(
      () => stream.end(),
      (error: unknown) => stream.emit('error', statusOf(error)),
    );
  };
}

async function sendAll<Q, A>(stream: ServerWritableStream<Q, A>, answers: AsyncIterable<A>): Promise<void> {
  for await (const answer of answers) {
    if (stream.cancelled) return;
    if (!stream.write(answer)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
  }
}

/** One message after the other. After an answered COMMIT containerd resets the stream: there is nothing left to be cut. */
export function bidirectional(
  call: (signal: AbortSignal) => WriteCall,
): handleBidiStreamingCall<WriteRequest, WriteResponse> {
  return (stream) => {
    const cancelled = new AbortController();
    stream.on('cancelled', () => cancelled.abort());
    const writing = call(cancelled.signal);
    answerAll(stream, writing)
      .then(
        () => stream.end(),
        (error: unknown) => stream.cancelled || stream.emit('error', statusOf(error)),
      )
      .then(() => writing.close())
      .catch(() => undefined);
  };
}

async function answerAll(
  stream: ServerDuplexStream<WriteRequest, WriteResponse>,
  writing: WriteCall,
): Promise<void> {
  for await (const request of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<WriteRequest>) {
    stream.write(await writing.answer(request));
    if (request.action === ACTION.commit) return;
  }
}
