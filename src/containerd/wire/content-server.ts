import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { bidirectional, type ServiceCalls, streaming, unary } from './calls.js';
import { clearSocket } from './unix-socket.js';

const PROTO = fileURLToPath(new URL('./../proto/content.proto', import.meta.url));
const SERVICE = 'containerd.services.content.v1.Content';

/** containerd sends a megabyte at once; other clients as much as its own server lets them. */
const MAX_MESSAGE_BYTES = 16 << 20;

/** The service on a unix socket that only its owner may use. */
export class ContentServer {
  private constructor(private readonly server: grpc.Server) {}

  static async listen(address: string, calls: ServiceCalls): Promise<ContentServer> {
    await clearSocket(address);
    const server = new grpc.Server({
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      'grpc.enable_channelz': 0,
    });
    server.addService(definition(), {
      Info: unary(calls.info),
      Update: unary(calls.update),
      List: streaming(calls.list),
      Delete: unary(calls.delete),
      Read: streaming(calls.read),
      Status: unary(calls.status),
      ListStatuses: unary(calls.listStatuses),
      Write: bidirectional(calls.write),
      Abort: unary(calls.abort),
    });
    await bind(server, address);
    await chmod(address, 0o600);
    return new ContentServer(server);
  }

  /** Cuts what is under way and removes the socket. */
  close(): void {
    this.server.forceShutdown();
  }
}

function definition(): grpc.ServiceDefinition {
  const loaded = loadSync(PROTO, { keepCase: true, longs: Number, enums: Number, defaults: true });
  return loaded[SERVICE] as grpc.ServiceDefinition;
}

function bind(server: grpc.Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${address}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}
