import { EventEmitter, once } from 'node:events';
import { expect, it } from 'vitest';
import { EtcdKeys } from '../../../src/stores/etcd/etcd-keys.js';
import { EtcdWatch } from '../../../src/stores/etcd/etcd-watch.js';

const MARKER = { base: 1000, text: Buffer.from('marker') };

/** A member that answers heartbeats when told to, and shows changes when told to. */
class SlowMember extends EventEmitter {
  readonly stream = Object.assign(new EventEmitter(), { write: () => true, cancel: () => undefined });
  readonly watchClient = { watch: async () => this.stream };
  readonly kv = {
    range: () => new Promise((resolve) => this.emit('asked', (answer: unknown) => resolve(answer))),
  };

  async answer(revision: number, meanwhile: () => void = () => undefined): Promise<void> {
    const [reply] = (await once(this, 'asked')) as [(answer: unknown) => void];
    meanwhile();
    reply({ kvs: [{ value: MARKER.text }], header: { revision: `${revision}` } });
  }

  show(revision: number): void {
    const kv = { key: Buffer.from('test/items/a'), mod_revision: `${revision}`, value: Buffer.from('v') };
    this.stream.emit('data', { canceled: false, compact_revision: '0', events: [{ type: 'Put', kv }] });
  }
}

it('does not take an answer that the stream has overtaken for a cluster that went back', async () => {
  const member = new SlowMember();
  const members = { client: member, deadline: () => ({}), failed: () => undefined };
  const shown: number[] = [];
  let compacted = 0;
  const watch = new EtcdWatch(members as never, new EtcdKeys('test/'), MARKER, 1005, {
    committed: (changes) => void shown.push(changes[0]!.revision),
    compacted: () => void compacted++,
    interrupted: () => undefined,
    resumed: () => undefined,
  });
  const opened = member.answer(5);
  const run = watch.run();
  await opened;
  await member.answer(6, () => member.show(7));
  await member.answer(7);
  expect({ shown, compacted }).toEqual({ shown: [1007], compacted: 0 });
  await member.answer(6);
  await new Promise(setImmediate);
  expect(compacted, 'one that did go back').toBe(1);
  watch.stop();
  await run;
});
