import type * as grpc from '@grpc/grpc-js';
import {
  type Info,
  type Labels,
  type ReadResponse,
  type Status,
  type WriteRequest,
  type WriteResponse,
} from '../../../src/containerd/wire/messages.js';
import { GrpcClient } from './grpc-client.js';

const PROTO = 'src/containerd/proto/content.proto';

/** Asks a content service as containerd does. */
export class ContentClient extends GrpcClient {
  constructor(address: string) {
    super(PROTO, 'containerd.services.content.v1.Content', address);
  }

  async info(digest: string): Promise<Info> {
    return (await this.call<{ info: Info }>('Info', { digest })).info;
  }

  async update(digest: string, labels: Labels, ...paths: string[]): Promise<Info> {
    const request = { info: { digest, labels }, update_mask: { paths } };
    return (await this.call<{ info: Info }>('Update', request)).info;
  }

  delete(digest: string): Promise<unknown> {
    return this.call('Delete', { digest });
  }

  abort(ref: string): Promise<unknown> {
    return this.call('Abort', { ref });
  }

  async status(ref: string): Promise<Status> {
    return (await this.call<{ status: Status }>('Status', { ref })).status;
  }

  async statuses(...filters: string[]): Promise<Status[]> {
    return (await this.call<{ statuses: Status[] }>('ListStatuses', { filters })).statuses;
  }

  async list(...filters: string[]): Promise<Info[]> {
    const messages = await this.stream<{ info: Info[] }>('List', { filters });
    return messages.flatMap(({ info }) => info);
  }

  async read(digest: string, offset = 0, size = 0): Promise<Buffer> {
    const messages = await this.stream<ReadResponse>('Read', { digest, offset, size });
    return Buffer.concat(messages.map(({ data }) => data));
  }

  write(): WriteConversation {
    return new WriteConversation(this.duplex<Partial<WriteRequest>, WriteResponse>('Write'));
  }
}

type WriteDuplex = grpc.ClientDuplexStream<Partial<WriteRequest>, WriteResponse>;

/** One `Write` stream, a question and an answer at a time. */
export class WriteConversation {
  private failure: grpc.ServiceError | undefined;
  private wake: () => void = () => undefined;
  private readonly answers: WriteResponse[] = [];

  constructor(private readonly stream: WriteDuplex) {
    stream.on('data', (answer: WriteResponse) => {
      this.answers.push(answer);
      this.wake();
    });
    stream.on('error', (error: grpc.ServiceError) => {
      this.failure = error;
      this.wake();
    });
  }

  async ask(request: Partial<WriteRequest>): Promise<WriteResponse> {
    this.stream.write(request);
    while (this.answers.length === 0 && !this.failure)
      await new Promise<void>((resolve) => (this.wake = resolve));
    const answer = this.answers.shift();
    if (answer) return answer;
    throw this.failure!;
  }

  stat(): Promise<WriteResponse> {
    return this.ask({ action: 0 });
  }

  write(offset: number, data: Buffer): Promise<WriteResponse> {
    return this.ask({ action: 1, offset, data });
  }

  commit(total: number, expected: string, labels: Labels = {}): Promise<WriteResponse> {
    return this.ask({ action: 2, total, expected, labels });
  }

  /** As a client that ends properly without a commit. */
  end(): void {
    this.stream.end();
  }

  cancel(): void {
    this.stream.cancel();
  }
}
