import { type Change, type Write } from './state-store.interface.js';

/** What a write that was made at this revision is shown as to watchers. */
export function changeOf(write: Write, revision: number): Change {
  const { key, by } = write;
  const value = 'put' in write ? write.put : undefined;
  return by === undefined ? { key, revision, value } : { key, revision, value, by };
}
