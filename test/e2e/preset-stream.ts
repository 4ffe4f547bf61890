import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

export interface StreamEvent {
  readonly type: string;
  readonly resource_id: string;
  readonly node_id: string;
  readonly success: boolean;
  readonly error: string;
}

/** A subscription to a key, read event by event. */
export class Subscription {
  private constructor(
    private readonly response: IncomingMessage,
    private readonly events: AsyncIterator<StreamEvent>,
  ) {}

  static async open(url: string, query: Readonly<Record<string, string>>): Promise<Subscription> {
    const sent = get(`${url}/lock/subscribe?${new URLSearchParams(query).toString()}`, { agent: false });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return new Subscription(response, eventsOf(response));
  }

  async next(): Promise<StreamEvent> {
    const { value } = (await this.events.next()) as IteratorYieldResult<StreamEvent>;
    return value;
  }

  close(): void {
    this.response.destroy();
  }
}

async function* eventsOf(response: IncomingMessage): AsyncGenerator<StreamEvent> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as StreamEvent;
  }
}
