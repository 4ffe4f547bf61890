import { type ContractRunner, skippable } from '../common/contract-runner.js';
import { commitContract } from './contract/commit.contract.js';
import { type ContractFactory, type ContractSubject, type ContractTest } from './contract/harness.js';
import { historyContract } from './contract/history.contract.js';
import { watchContract } from './contract/watch.contract.js';

export { type ContractFactory as StateStoreContractFactory } from './contract/harness.js';

/**
 * The promises of the `StateStore` port as tests, for every engine, yours included. Works under any runner
 * that has `describe` and `it`:
 *
 *     stateStoreContract({ describe, it }, async () => {
 *       const store = new MyStateStore(…);
 *       await store.open();
 *       return { store, destroy: () => store.close() };
 *     });
 *
 * The factory gives each test an open store without items. With `reopen` it also proves what must outlive
 * the process; without it those tests are skipped. What no suite can prove is durability on power loss and the
 * meaning of `unknown`.
 */
export function stateStoreContract({ describe, it }: ContractRunner, factory: ContractFactory): void {
  const test: ContractTest = (name, body) => {
    it(
      name,
      skippable(async (skip) => {
        const subject: ContractSubject = await factory();
        try {
          await body(subject.store, subject, skip);
        } finally {
          await subject.destroy();
        }
      }),
    );
  };
  describe('StateStore contract', () => {
    commitContract(test);
    watchContract(test);
    historyContract(test);
  });
}
