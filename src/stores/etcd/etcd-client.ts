import { Etcd3, type IOptions } from 'etcd3';
import { type Clock } from '../../common/clock.interface.js';
import { type HostAndPort } from '../engine-url.js';
import { readTlsFiles } from '../tls-files.js';
import { type EtcdSettings } from './etcd-settings.js';

/** etcd takes pings no more often than every five seconds; this finds a connection that died without a word. */
const KEEPALIVE_MS = 10_000;

/** Back soon after a blip, and no burden for a member that starts. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 1000;

type Policy = NonNullable<NonNullable<IOptions['faultHandling']>['global']>;

const NEVER = new AbortController().signal;

/**
 * etcd3 by default repeats what failed, up to three times. A commit repeated would conflict with itself and be reported as
 * refused although it was applied; so nothing is repeated here but what `EtcdMembers` knows was never sent.
 */
const ONCE: Pick<Policy, 'execute'> = { execute: async (call) => call({ signal: NEVER }) };

/** A client of one member. Connects when first used. */
export function etcdClient(settings: EtcdSettings, member: HostAndPort, clock: Clock): Etcd3 {
  const { username, password, timeoutMs } = settings;
  return new Etcd3({
    hosts: [addressOf(member, settings.tls !== undefined)],
    faultHandling: { global: ONCE as Policy, host: () => ONCE as Policy },
    grpcOptions: {
      'grpc.max_receive_message_length': -1,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.keepalive_timeout_ms': timeoutMs,
      'grpc.initial_reconnect_backoff_ms': FIRST_RETRY_MS,
      'grpc.max_reconnect_backoff_ms': LONGEST_RETRY_MS,
    },
    ...credentials(settings),
    ...(username !== undefined &&
      password !== undefined && {
        auth: { username, password, callOptions: () => ({ deadline: clock.wallMs() + timeoutMs }) },
      }),
  });
}

function credentials({ tls }: EtcdSettings): Pick<IOptions, 'credentials'> {
  if (!tls) return {};
  const { ca, cert, key } = readTlsFiles(tls);
  // Without an authority of its own gRPC takes the system's; the types of etcd3 do not know that.
  const rootCertificate = ca as Buffer;
  return {
    credentials: { rootCertificate, ...(cert && { certChain: cert }), ...(key && { privateKey: key }) },
  };
}

function addressOf({ host, port }: HostAndPort, tls: boolean): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
