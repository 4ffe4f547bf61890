import { type Info, type ReadResponse, type Status, type Timestamp, type WriteResponse } from './messages.js';
import { ProtoWriter } from './proto-writer.js';

/** Answers as they go: the numbers are those of proto/content.proto. A message is its parts, one after the other. */
export type Parts = readonly Uint8Array[];

export function emptyAnswer(): Parts {
  return [];
}

export function infoAnswer({ info }: { info: Info }): Parts {
  return infosAnswer({ info: [info] });
}

/** One or many: on the wire it is the same. */
export function infosAnswer({ info }: { info: readonly Info[] }): Parts {
  const writer = new ProtoWriter();
  for (const one of info) writer.message(1, infoMessage(one));
  return [writer.finish()];
}

export function statusAnswer({ status }: { status: Status }): Parts {
  return statusesAnswer({ statuses: [status] });
}

export function statusesAnswer({ statuses }: { statuses: readonly Status[] }): Parts {
  const writer = new ProtoWriter();
  for (const one of statuses) writer.message(1, statusMessage(one));
  return [writer.finish()];
}

/** The data is not copied. */
export function readAnswer({ offset, data }: ReadResponse): Parts {
  return [new ProtoWriter().int64(1, offset).bytesHead(2, data.length).finish(), data];
}

export function writeAnswer(answer: WriteResponse): Parts {
  const message = new ProtoWriter()
    .int64(1, answer.action)
    .message(2, timestampMessage(answer.started_at))
    .message(3, timestampMessage(answer.updated_at))
    .int64(4, answer.offset)
    .int64(5, answer.total)
    .string(6, answer.digest);
  return [message.finish()];
}

function infoMessage({ digest, size, created_at, updated_at, labels }: Info): ProtoWriter {
  return new ProtoWriter()
    .string(1, digest)
    .int64(2, size)
    .message(3, timestampMessage(created_at))
    .message(4, timestampMessage(updated_at))
    .map(5, labels);
}

function statusMessage({ started_at, updated_at, ref, offset, total, expected }: Status): ProtoWriter {
  return new ProtoWriter()
    .message(1, timestampMessage(started_at))
    .message(2, timestampMessage(updated_at))
    .string(3, ref)
    .int64(4, offset)
    .int64(5, total)
    .string(6, expected);
}

function timestampMessage({ seconds, nanos }: Timestamp): ProtoWriter {
  return new ProtoWriter().int64(1, seconds).int64(2, nanos);
}
