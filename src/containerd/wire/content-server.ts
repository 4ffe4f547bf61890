import { chmod } from 'node:fs/promises';
import { GrpcServer, type Handler } from '../grpc/grpc-server.js';
import * as answers from './answers.js';
import { bidirectional, type ServiceCalls, streaming, unary } from './calls.js';
import * as requests from './requests.js';
import { clearSocket } from './unix-socket.js';

const SERVICE = 'containerd.services.content.v1.Content';

/** containerd sends a megabyte at once; other clients as much as its own server lets them. */
const MAX_MESSAGE_BYTES = 16 << 20;

const { digestRequest, filtersRequest, readRequest, refRequest, updateRequest } = requests;
const { emptyAnswer, infoAnswer, infosAnswer, readAnswer, statusAnswer, statusesAnswer } = answers;

/** The service on a unix socket that only its owner may use. */
export class ContentServer {
  private constructor(private readonly server: GrpcServer) {}

  static async listen(address: string, calls: ServiceCalls): Promise<ContentServer> {
    await clearSocket(address);
    const server = new GrpcServer({ methods: methodsOf(calls), maxMessageBytes: MAX_MESSAGE_BYTES });
    await server.listen(address);
    await chmod(address, 0o600);
    return new ContentServer(server);
  }

  /** Cuts what is under way and removes the socket. */
  close(): void {
    this.server.close();
  }
}

function methodsOf(calls: ServiceCalls): ReadonlyMap<string, Handler> {
  const methods: Readonly<Record<string, Handler>> = {
    Info: unary({ request: digestRequest, answer: infoAnswer }, calls.info),
    Update: unary({ request: updateRequest, answer: infoAnswer }, calls.update),
    List: streaming({ request: filtersRequest, answer: infosAnswer }, calls.list),
    Delete: unary({ request: digestRequest, answer: emptyAnswer }, calls.delete),
    Read: streaming({ request: readRequest, answer: readAnswer }, calls.read),
    Status: unary({ request: refRequest, answer: statusAnswer }, calls.status),
    ListStatuses: unary({ request: filtersRequest, answer: statusesAnswer }, calls.listStatuses),
    Write: bidirectional(calls.write),
    Abort: unary({ request: refRequest, answer: emptyAnswer }, calls.abort),
  };
  return new Map(Object.entries(methods).map(([name, handler]) => [`/${SERVICE}/${name}`, handler]));
}
