import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Text is sent as it is. */
  readonly body?: unknown;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the client sends
  readonly body: any;
}

/** `undefined`: never answered. */
export type Behaviour = (request: FakeRequest, nth: number) => FakeAnswer | undefined;

export const SESSION = { session_id: 's-1', node_id: 'n1', ttl_ms: 60_000, renewed: true, ended: true };
export const GRANTED = { acquired: true, skip: false, message: 'lock acquired', token: 7, lease_ms: 0 };

/** A server that says whatever a test wants. Sessions work unless the test says otherwise. */
export class FakeServer {
  readonly requests: FakeRequest[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly behaviour: Behaviour,
  ) {
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async start(behaviour: Behaviour): Promise<FakeServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeServer(server, (server.address() as AddressInfo).port, behaviour);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  to(path: string): FakeRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method = '', url: path = '' } = request;
    const asked = { method, path, body: text === '' ? undefined : JSON.parse(text) };
    this.requests.push(asked);
    const answer = this.behaviour(asked, this.to(path).length) ?? this.usual(path);
    if (!answer) return;
    const { status = 200, headers = {}, body } = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  private usual(path: string): FakeAnswer | undefined {
    return path.startsWith('/sessions') && !path.includes('/events') ? { body: SESSION } : undefined;
  }
}
