/** What is written to a stream. Made once, and the same bytes for every stream that it goes to. */
export interface Frame {
  readonly payload: Uint8Array;
  /** The payload as a chunk of HTTP/1.1's chunked encoding. */
  readonly chunk: Uint8Array;
}

export function eventFrame(id: string, name: string, data: object): Frame {
  return frame(`id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** What is the case, as opposed to what has happened: it has no id. */
export function snapshotFrame(data: object): Frame {
  return frame(`event: snapshot\ndata: ${JSON.stringify(data)}\n\n`);
}

export function commentFrame(text: string): Frame {
  return frame(`: ${text}\n\n`);
}

function frame(text: string): Frame {
  const head = `${Buffer.byteLength(text).toString(16)}\r\n`;
  const chunk = Buffer.from(`${head}${text}\r\n`);
  return { chunk, payload: chunk.subarray(head.length, -2) };
}
