import { describe, it } from 'vitest';
import { LockClient } from '../../src/client/index.js';
import {
  DirectoryRefCountStorage,
  refCountStorageContract,
  ServerRefCountStorage,
} from '../../src/content/index.js';
import { TestServer } from '../support/server-bootstrap.js';
import { directoryOf } from './setup.js';

describe('DirectoryRefCountStorage', () => {
  refCountStorageContract({ describe, it }, async () => {
    const directory = directoryOf();
    const open = async () => new DirectoryRefCountStorage(directory);
    return { storage: await open(), maxNodes: 500, reopen: open, another: open };
  });
});

describe('ServerRefCountStorage', () => {
  refCountStorageContract({ describe, it }, async () => {
    const server = await TestServer.start({ logLevel: 'error' });
    const clients: LockClient[] = [];
    const open = async () => {
      const client = new LockClient({ serverUrl: server.url, nodeId: 'n1' });
      clients.push(client);
      return new ServerRefCountStorage(client);
    };
    const dispose = async () => void (await Promise.all(clients.map((client) => client.close())));
    return {
      storage: await open(),
      keepsOwnTimes: true,
      refusesControlCharacters: true,
      maxNodes: 1000,
      reopen: open,
      another: open,
      dispose,
    };
  });
});
