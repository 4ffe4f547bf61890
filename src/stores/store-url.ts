import { StoreUrlError } from './engine-url.js';
import { etcdSettings, isEtcdUrl } from './etcd/etcd-settings.js';
import { assertKeyPrefix } from './redis/redis-keys.js';
import { isRedisUrl, redisSettings } from './redis/redis-settings.js';

export const STORE_URL_FORMS =
  'memory:, file:DIR, redis://…, redis+sentinel://…, redis+cluster://… or etcd://…';

/** Whether several processes can serve the state this names. */
export function isSharedStore(url: string): boolean {
  return isRedisUrl(url) || isEtcdUrl(url);
}

/** What is wrong with it, as a sentence without the name of the variable; `undefined`: nothing. Opens nothing. */
export function storeUrlProblem(url: string, keyPrefix: string): string | undefined {
  try {
    if (isRedisUrl(url)) {
      redisSettings(url);
      assertKeyPrefix(keyPrefix);
    } else if (isEtcdUrl(url)) etcdSettings(url);
    else if (!/^(memory:|file:.+)$/s.test(url))
      return `must be ${STORE_URL_FORMS}, not "${withoutPassword(url)}"`;
    return undefined;
  } catch (error) {
    if (!(error instanceof StoreUrlError)) throw error;
    return `is not valid: ${error.problem}`;
  }
}

/** For people to read. */
export function withoutPassword(url: string): string {
  return url.replace(/^([a-z+]+:\/\/[^:@/?]*):[^@/?]*@/, '$1:***@').replace(/(password=)[^&]*/g, '$1***');
}
