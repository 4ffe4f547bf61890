import { describe, expect, it } from 'vitest';
// @ts-expect-error a plain script, without types
import { violations } from '../../scripts/check-imports.mjs';

const check = violations as (files: [string, string][]) => string[];

describe('the import check', () => {
  it.each([
    ['core/a.ts', "import { Shard } from '../locking/shard.js';"],
    ['core/a.ts', "import { Subject } from 'rxjs';"],
    ['core/a.ts', "import {\n  Subject,\n} from 'rxjs';"],
    ['locking/a.ts', "import { MemoryStateStore } from '../stores/memory/memory-state-store.js';"],
    ['locking/records/a.ts', "import { x } from '../../stores/lmdb/lmdb-state-store.js';"],
    ['stores/a.ts', "export { LockManager } from '../locking/lock-manager.js';"],
    ['cli/commands/a.ts', "import { LockManager } from '../../locking/lock-manager.js';"],
    ['content/a.ts', "import { RefCountModule } from '../refcount/ref-count.module.js';"],
    ['content/a.ts', "import { LockManager } from '../locking/lock-manager.js';"],
    ['core/a.ts', "import '../locking/shard.js';"],
    ['core/a.ts', "import 'reflect-metadata';"],
    ['refcount/a.ts', "const x = await import(\n  '../stores/store.error.js'\n);"],
    ['a-new-room/a.ts', ''],
    ['refcount/a.ts', "const x = await import('../stores/store.error.js');"],
  ])('catches %s with %s', (path, text) => {
    expect(check([[path, text]])).toHaveLength(1);
  });

  it('lets rooms see what they may', () => {
    const files: [string, string][] = [
      ['locking/a.ts', "import { STATE_STORE } from '../stores/state-store.interface.js';"],
      ['stores/lmdb/a.ts', "import { fnv1a } from '../../core/fnv1a.js';\nimport { open } from 'lmdb';"],
      ['content/a.ts', "import { RefCountManager } from '../refcount/ref-count-manager.js';"],
      ['core/a.ts', "import { THIS_COMMIT } from './moment.js';"],
      ['serve.ts', "import 'reflect-metadata';\nimport { AppModule } from './app.module.js';"],
    ];
    expect(check(files)).toEqual([]);
  });
});
