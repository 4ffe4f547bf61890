import { type Server } from 'node:http';
import { type Socket } from 'node:net';

/** What Node's parser gives up on never becomes a request; it is answered by hand. */
const ANSWERS: Readonly<Record<string, { status: string; code: string; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'HEADERS_TOO_LARGE',
    message: 'The request line and headers may take at most 16 KB together; send long values in a body.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    code: 'REQUEST_TIMEOUT',
    message: 'The request did not arrive completely in time.',
  },
};

const MALFORMED = {
  status: '400 Bad Request',
  code: 'MALFORMED_REQUEST',
  message: 'This is not HTTP/1.1 as RFC 9112 has it.',
};

/** Gives requests that cannot be parsed a `{code, message}` too, instead of Node's bare status line. */
export function answerMalformedRequests(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const { status, code, message } = ANSWERS[error.code ?? ''] ?? MALFORMED;
    const body = JSON.stringify({ code, message });
    const type = 'content-type: application/json; charset=utf-8';
    const length = `content-length: ${Buffer.byteLength(body)}`;
    socket.end(`HTTP/1.1 ${status}\r\n${type}\r\n${length}\r\nconnection: close\r\n\r\n${body}`);
  });
}
