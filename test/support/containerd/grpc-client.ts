import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

type Callback = (error: grpc.ServiceError | null, answer: unknown) => void;
type Unary = (request: object, callback: Callback) => void;
type ServerStream<T> = (request: object) => grpc.ClientReadableStream<T>;

/** Of one service behind a unix socket. Rejects with errors that have gRPC's `code`. */
export class GrpcClient {
  private readonly client: grpc.Client;

  constructor(proto: string, service: string, socket: string) {
    const loaded = loadSync(proto, { keepCase: true, longs: Number, enums: Number, defaults: true });
    const Client = grpc.makeGenericClientConstructor(loaded[service] as grpc.ServiceDefinition, service);
    this.client = new Client(`unix:${socket}`, grpc.credentials.createInsecure());
  }

  close(): void {
    this.client.close();
  }

  protected call<T>(method: string, request: object): Promise<T> {
    const ask = this.method(method) as Unary;
    return new Promise((resolve, reject) =>
      ask(request, (error, answer) => (error ? reject(error) : resolve(answer as T))),
    );
  }

  protected async stream<T>(method: string, request: object): Promise<T[]> {
    const open = this.method(method) as ServerStream<T>;
    const messages: T[] = [];
    for await (const message of open(request)) messages.push(message as T);
    return messages;
  }

  protected duplex<Question, Answer>(method: string): grpc.ClientDuplexStream<Question, Answer> {
    return (this.method(method) as () => grpc.ClientDuplexStream<Question, Answer>)();
  }

  private method(name: string): unknown {
    const { client } = this;
    return (client[name as keyof grpc.Client] as unknown as (this: grpc.Client) => void).bind(client);
  }
}
