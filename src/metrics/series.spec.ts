import { Counter, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { Distribution, register, Tally } from './series.js';

const text = async (registry: Registry) => (await registry.metrics()).split('\n');

it('counts as prom-client does', async () => {
  const theirs = new Registry();
  const counter = new Counter({ name: 'a', help: 'As', labelNames: ['type', 'how'], registers: [theirs] });
  counter.labels('pull', 'granted').inc();
  counter.labels('pull', 'granted').inc();
  counter.labels('pull', 'queued').inc(3);
  counter.labels('other', 'queued').inc();
  const single = new Counter({ name: 'b', help: 'Bs', labelNames: ['type'], registers: [theirs] });
  single.labels('pull').inc(5);

  const ours = new Registry();
  const tally = new Tally('a', 'As', ['type', 'how']);
  const one = new Tally('b', 'Bs', ['type']);
  register(ours, tally, one);
  tally.add('pull', 'granted');
  tally.add('pull', 'granted');
  tally.add('pull', 'queued', 3);
  tally.add('other', 'queued');
  one.add('pull', '', 5);

  expect(await text(ours)).toEqual(await text(theirs));
});

it('measures as prom-client does', async () => {
  const buckets = [0.1, 1, 10];
  const theirs = new Registry();
  const labelled = new Histogram({
    name: 'a',
    help: 'As',
    labelNames: ['type'],
    buckets,
    registers: [theirs],
  });
  const plain = new Histogram({ name: 'b', help: 'Bs', buckets, registers: [theirs] });
  const ours = new Registry();
  const byType = new Distribution('a', 'As', 'type', buckets);
  const alone = new Distribution('b', 'Bs', undefined, buckets);
  register(ours, byType, alone);
  expect(await text(ours), 'before anything happened').toEqual(await text(theirs));

  for (const value of [0, 0.1, 0.5, 1, 9.75, 10, 11, 100]) {
    labelled.labels('pull').observe(value);
    byType.observe('pull', value);
    plain.observe(value);
    alone.observe('', value);
  }
  labelled.labels('update').observe(3);
  byType.observe('update', 3);
  expect(await text(ours)).toEqual(await text(theirs));
});
