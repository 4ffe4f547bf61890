import { type GrpcCall } from '../grpc/grpc-call.js';
import { type Handler } from '../grpc/grpc-server.js';
import { type Parts, writeAnswer } from './answers.js';
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
import { writeRequest } from './requests.js';
import { statusOf } from './status-of.js';

/** The service as its calls: a request in, an answer or several out, an `RpcError` thrown. */
export interface ServiceCalls {
  info(request: { digest: string }): Promise<{ info: Info }>;
  update(request: UpdateRequest): Promise<{ info: Info }>;
  list(request: { filters: string[] }): AsyncIterable<{ info: Info[] }>;
  delete(request: { digest: string }): Promise<object>;
  /** The data of an answer may change when the next is asked for. */
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

/** How requests are read and answers are written. */
export interface Wire<Q, A> {
  readonly request: (message: Buffer) => Q;
  readonly answer: (answer: A) => Parts;
}

export function unary<Q, A>(wire: Wire<Q, A>, answer: (request: Q) => Promise<A>): Handler {
  return (call) => void finished(call, sendOne(call, wire, answer));
}

export function streaming<Q, A>(wire: Wire<Q, A>, answers: (request: Q) => AsyncIterable<A>): Handler {
  return (call) => void finished(call, sendAll(call, wire, answers));
}

/**
 * One message after the other. After an answered COMMIT containerd resets the stream: there is nothing left to be cut. A
 * client that ends one stream and opens the next finds the first closed.
 */
export function bidirectional(open: (signal: AbortSignal) => WriteCall): Handler {
  return (call) => {
    const writing = open(call.signal);
    call.onLast = () => void writing.close().catch(() => undefined);
    finished(call, answerAll(call, writing))
      .then(() => writing.close())
      .catch(() => undefined);
  };
}

/** Never rejects. */
function finished(call: GrpcCall, work: Promise<void>): Promise<void> {
  return work.then(
    () => call.finish(),
    (error: unknown) => call.finish(statusOf(error)),
  );
}

async function sendOne<Q, A>(
  call: GrpcCall,
  wire: Wire<Q, A>,
  answer: (request: Q) => Promise<A>,
): Promise<void> {
  const request = wire.request(await call.only());
  await call.send(...wire.answer(await answer(request)));
}

async function sendAll<Q, A>(
  call: GrpcCall,
  wire: Wire<Q, A>,
  answers: (request: Q) => AsyncIterable<A>,
): Promise<void> {
  const request = wire.request(await call.only());
  for await (const answer of answers(request)) {
    if (call.isOver) return;
    await call.send(...wire.answer(answer));
    if (call.isOver) return; // what comes next need not be looked for
  }
}

async function answerAll(call: GrpcCall, writing: WriteCall): Promise<void> {
  for (let message = await call.next(); message; message = await call.next()) {
    const request = writeRequest(message);
    const answer = await writing.answer(request);
    call.release(message);
    await call.send(...writeAnswer(answer));
    if (request.action === ACTION.commit) return;
  }
}
