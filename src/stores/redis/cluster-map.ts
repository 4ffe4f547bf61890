import { type HostAndPort } from '../engine-url.js';
import { type RedisConnection } from './redis-connection.js';
import { unavailable } from './redis-faults.js';

/** `CLUSTER SLOTS`: first and last slot, then the primary, then its replicas. */
type SlotRange = [number, number, [host: string | null, port: number], ...unknown[]];

/** Where the primaries of these keys are, as the asked node of the Cluster knows it. */
export async function clusterPrimaries(
  asked: RedisConnection,
  askedAt: HostAndPort,
  keys: readonly string[],
): Promise<HostAndPort[]> {
  return asked.ask('open', async (redis) => {
    const ranges = (await redis.cluster('SLOTS')) as unknown as SlotRange[];
    const slots = await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key)));
    return slots.map((slot) => primaryOf(slot, ranges, askedAt));
  });
}

function primaryOf(slot: number, ranges: readonly SlotRange[], askedAt: HostAndPort): HostAndPort {
  const range = ranges.find(([first, last]) => first <= slot && slot <= last);
  if (!range) throw unavailable('open', `No node of the Redis Cluster serves slot ${slot}.`);
  const [host, port] = range[2];
  return { host: host || askedAt.host, port };
}
