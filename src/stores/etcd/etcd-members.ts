import { type Etcd3 } from 'etcd3';
import { type Clock } from '../../common/clock.interface.js';
import { etcdClient } from './etcd-client.js';
import { etcdError, isTroubleOfHost, wasNeverSent } from './etcd-faults.js';
import { type EtcdSettings } from './etcd-settings.js';

/** For gRPC, which knows wall time only. */
export interface Deadline {
  readonly deadline: number;
}

export type Call<T> = (client: Etcd3, options: Deadline) => Promise<T>;

/**
 * The members of the cluster. Everything goes to one of them until it fails, then to the next. A call, with all that is
 * tried for it, ends within the configured time.
 */
export class EtcdMembers {
  private readonly clients: readonly Etcd3[];
  private current: number;

  constructor(
    private readonly settings: EtcdSettings,
    private readonly clock: Clock,
  ) {
    this.clients = settings.hosts.map((member) => etcdClient(settings, member, clock));
    this.current = Math.floor(Math.random() * this.clients.length);
  }

  close(): void {
    for (const client of this.clients) client.close();
  }

  /** The one calls go to now. */
  get client(): Etcd3 {
    return this.clients[this.current]!;
  }

  deadline(withinMs = this.settings.timeoutMs): Deadline {
    return { deadline: this.clock.wallMs() + withinMs };
  }

  /** For what changes nothing: other members are asked as long as there is time. */
  read<T>(operation: string, call: Call<T>): Promise<T> {
    return this.call(call, isTroubleOfHost).catch((error: unknown) => {
      throw etcdError(operation, error);
    });
  }

  /** For what may be done only once. Rejects with gRPC's own error. */
  write<T>(call: Call<T>): Promise<T> {
    return this.call(call, wasNeverSent);
  }

  failed(client: Etcd3): void {
    if (client === this.client) this.current = (this.current + 1) % this.clients.length;
  }

  private async call<T>(call: Call<T>, maySendAgain: (error: Error) => boolean): Promise<T> {
    const untilMs = this.clock.monotonicMs() + this.settings.timeoutMs;
    for (let tries = this.clients.length, leftMs = this.settings.timeoutMs; ; tries--) {
      const { client } = this;
      try {
        return await call(client, this.deadline(leftMs));
      } catch (error) {
        if (isTroubleOfHost(error as Error)) this.failed(client);
        leftMs = untilMs - this.clock.monotonicMs();
        if (tries === 1 || leftMs <= 0 || !maySendAgain(error as Error)) throw error;
      }
    }
  }
}
