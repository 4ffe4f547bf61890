import { type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';

/** Responses whose turn has not come yet, by their connection. */
const QUEUED = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * To be called as a request comes. Requests sent without waiting for answers are answered in turn, and when their
 * connection breaks Node tells only the response whose turn it is. This closes those behind it, too: who waits for
 * the `close` of one of them would wait for ever.
 */
export function closeWithConnection(response: ServerResponse): void {
  if (response.socket) return;
  const { socket } = response.req;
  const queued = QUEUED.get(socket) ?? watch(socket);
  queued.add(response);
  response.once('socket', () => queued.delete(response));
}

function watch(socket: Socket): Set<ServerResponse> {
  const queued = new Set<ServerResponse>();
  QUEUED.set(socket, queued);
  socket.once('close', () => {
    for (const response of queued) response.destroy().emit('close');
  });
  return queued;
}
