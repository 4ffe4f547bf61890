import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
// @ts-expect-error plain JavaScript, as a user would write it
import pg from 'pg';
// @ts-expect-error plain JavaScript, as a user would write it
import { PostgresRefCountStorage as Example } from '../../examples/postgres-ref-count-storage.mjs';
import { refCountStorageContract, type RefCountStorage } from '../../src/content/index.js';
import { PostgresServer } from '../support/engines/postgres-server.js';

interface Pool {
  query(text: string): Promise<unknown>;
  on(event: 'error', listener: () => void): void;
  end(): Promise<void>;
}

const { Pool } = pg as { Pool: new (options: object) => Pool };
const PostgresRefCountStorage = Example as new (pool: Pool) => RefCountStorage & { prepare(): Promise<void> };

describe('examples/postgres-ref-count-storage.mjs', () => {
  let server: PostgresServer;
  let admin: Pool;

  beforeAll(async () => {
    server = await PostgresServer.start();
    admin = new Pool(server.options);
    // A connection that was ended may hear of the shutdown before it is closed.
    admin.on('error', () => undefined);
  }, 60_000);

  afterAll(async () => {
    await admin?.end();
    await server?.destroy();
  });

  refCountStorageContract({ describe, it }, async () => {
    const database = `t${randomBytes(8).toString('hex')}`;
    await admin.query(`CREATE DATABASE ${database}`);
    const pools: Pool[] = [];
    const open = async () => {
      const pool = new Pool({ ...server.options, database, max: 4 });
      pools.push(pool);
      const storage = new PostgresRefCountStorage(pool);
      await storage.prepare();
      return storage;
    };
    const dispose = async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await admin.query(`DROP DATABASE ${database}`);
    };
    return { storage: await open(), reopen: open, another: open, dispose };
  });
});
