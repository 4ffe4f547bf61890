import { describe, expect, it } from 'vitest';
import { check } from './checker.js';
import { LOCKS } from './lock-model.js';
import { counted, granted, queued, refused, released, skip, Story } from './story.js';

function verdict({ history }: Story): string {
  return check(LOCKS, history).is;
}

const GOOD = 'linearizable';
const BAD = 'violated';

describe('one holder', () => {
  it('is granted, others queue, and a failure hands over', () => {
    const story = new Story()
      .lock('a', granted(1))
      .lock('b', queued('2.0'))
      .lock('c', queued('3.0', 2))
      .unlock('a', 'failure', released('b'))
      .lock('c', queued('3.0', 1))
      .lock('b', granted(4));
    expect(verdict(story)).toBe(GOOD);
  });

  it('is not two', () => {
    expect(verdict(new Story().lock('a', granted(1)).lock('b', granted(2)))).toBe(BAD);
  });

  it('is not two at the same time either', () => {
    const together = { call: 0, return: 9 };
    expect(verdict(new Story().lock('a', granted(1), together).lock('b', granted(2), together))).toBe(BAD);
  });

  it('asks again and keeps its token', () => {
    expect(verdict(new Story().lock('a', granted(1)).lock('a', granted(1)))).toBe(GOOD);
    expect(verdict(new Story().lock('a', granted(1)).lock('a', granted(2)))).toBe(BAD);
  });

  it('never has a token that was given before, or one that is smaller', () => {
    const before = () => new Story().lock('a', granted(5)).unlock('a', 'failure', released());
    expect(verdict(before().lock('b', granted(6)))).toBe(GOOD);
    expect(verdict(before().lock('b', granted(5)))).toBe(BAD);
    expect(verdict(before().lock('b', granted(4)))).toBe(BAD);
  });

  it('has a token between those granted before and after, when it is told late', () => {
    const handedOver = (token: number) =>
      new Story()
        .lock('a', granted(5))
        .lock('b', queued('6.0'))
        .unlock('a', 'failure', released('b'))
        .lock('c', granted(8), { type: 'other' })
        .lock('b', granted(token));
    expect([4, 5, 7, 8, 9].map((token) => verdict(handedOver(token)))).toEqual([BAD, BAD, GOOD, BAD, BAD]);
  });

  it('is not lost without a reason', () => {
    const free = new Story().lock('a', granted(1)).status('b', {});
    expect(verdict(free)).toBe(BAD);
    const ended = new Story()
      .lock('a', granted(1))
      .add('-', { do: 'end', resource: 'r', type: 'build', node: 'a' });
    expect(verdict(ended.status('b', {}))).toBe(GOOD);
  });
});

describe('a success', () => {
  const done = () =>
    new Story().lock('a', granted(1)).lock('b', queued('2.0')).unlock('a', 'success', released());

  it('skips who waited, once', () => {
    expect(verdict(done().lock('b', skip()).lock('b', granted(4)))).toBe(GOOD);
    expect(verdict(done().lock('b', skip()).lock('b', skip()))).toBe(BAD);
  });

  it('is not lost: who waited is not granted', () => {
    expect(verdict(done().lock('b', granted(4)))).toBe(BAD);
  });

  it('is read by who looks afterwards', () => {
    expect(verdict(done().status('c', { completed: true, success: true }))).toBe(GOOD);
    expect(verdict(done().status('c', {}))).toBe(BAD);
    expect(verdict(done().status('c', { holder: 'a', token: 1 }))).toBe(BAD);
  });

  it('skips only askers with a ticket older than it', () => {
    expect(verdict(done().lock('c', skip()))).toBe(BAD);
    expect(verdict(done().lock('b', skip()).lock('b', skip(), { ticket: '2.0' }))).toBe(GOOD);
  });

  it('is acknowledged again when it is said again, also after the key has passed on', () => {
    const story = done().unlock('a', 'success', released()).lock('c', granted(3));
    expect(verdict(story.unlock('a', 'success', released(), { token: 1 }))).toBe(GOOD);
    expect(verdict(done().unlock('a', 'failure', released()))).toBe(BAD);
  });

  it('is not acknowledged to who has lost the hold', () => {
    const lost = () =>
      new Story()
        .lock('a', granted(1))
        .add('-', { do: 'end', resource: 'r', type: 'build', node: 'a' })
        .lock('b', granted(2));
    expect(verdict(lost().unlock('a', 'success', refused('NOT_HOLDER'), { token: 1 }))).toBe(GOOD);
    expect(verdict(lost().unlock('a', 'success', released(), { token: 1 }))).toBe(BAD);
  });
});

describe('a fatal failure', () => {
  it('refuses who waited, and nobody else', () => {
    const failed = () =>
      new Story().lock('a', granted(1)).lock('b', queued('2.0')).unlock('a', 'fatal', released());
    const story = failed().lock('b', refused('OPERATION_FAILED'));
    expect(verdict(story.lock('c', granted(4)))).toBe(GOOD);
    expect(verdict(failed().lock('c', refused('OPERATION_FAILED')))).toBe(BAD);
  });
});

describe('a waiter', () => {
  it('keeps its place and its ticket', () => {
    const waiting = () =>
      new Story().lock('a', granted(1)).lock('b', queued('2.0')).lock('c', queued('3.0', 2));
    expect(verdict(waiting().lock('b', queued('2.0', 1)))).toBe(GOOD);
    expect(verdict(waiting().lock('b', queued('4.0', 1)))).toBe(BAD);
    expect(verdict(waiting().lock('c', queued('3.0', 1)))).toBe(BAD);
  });

  it('is served in turn', () => {
    const waiting = new Story().lock('a', granted(1)).lock('b', queued('2.0')).lock('c', queued('3.0', 2));
    expect(verdict(waiting.unlock('a', 'failure', released('c')))).toBe(BAD);
  });

  it('is not forgotten', () => {
    const story = new Story().lock('a', granted(1)).lock('b', queued('2.0'));
    expect(verdict(story.unlock('a', 'failure', released()))).toBe(BAD);
  });
});

describe('a reference', () => {
  const add = { do: 'add-reference', resource: 'r', node: 'n' } as const;
  const drop = { do: 'release-reference', resource: 'r', node: 'n' } as const;
  const nodes = (...names: string[]) => ({ is: 'references', nodes: names }) as const;

  it('is not lost', () => {
    const counts = () => new Story('pull').add('n', add, counted(1));
    expect(verdict(counts().add('x', { do: 'references', resource: 'r' }, nodes('n')))).toBe(GOOD);
    expect(verdict(counts().add('x', { do: 'references', resource: 'r' }, nodes()))).toBe(BAD);
    expect(verdict(counts().lock('a', granted(1)))).toBe(BAD);
    expect(verdict(counts().lock('a', skip(2)).lock('b', skip(3)))).toBe(GOOD);
  });

  it('keeps a delete away', () => {
    const story = () => new Story('delete').add('n', add, counted(1));
    expect(verdict(story().lock('a', refused('RESOURCE_IN_USE')))).toBe(GOOD);
    expect(verdict(story().lock('a', granted(1)))).toBe(BAD);
    expect(verdict(story().add('n', drop, counted(0)).lock('a', granted(1)))).toBe(GOOD);
  });

  it('may be there or not when nobody heard of it', () => {
    expect(verdict(new Story('pull').add('n', add).lock('a', skip(2)))).toBe(GOOD);
    expect(verdict(new Story('pull').add('n', add).lock('a', granted(1)))).toBe(GOOD);
  });
});

describe('an unknown outcome', () => {
  it('of a lock: granted or not, and then told with its token', () => {
    expect(verdict(new Story().lock('a').lock('b', queued('2.0')).lock('a', granted(1)))).toBe(GOOD);
    expect(verdict(new Story().lock('a').lock('b', granted(1)))).toBe(GOOD);
    expect(verdict(new Story().lock('b', queued('2.0')))).toBe(BAD);
  });

  it('of a wait: the ticket is learnt when it is told, and lies between its neighbours', () => {
    const waiting = (ticket: string) =>
      new Story().lock('a', granted(1)).lock('b').lock('c', queued('5.0', 2)).lock('b', queued(ticket));
    expect(verdict(waiting('4.0'))).toBe(GOOD);
    expect(verdict(waiting('6.0'))).toBe(BAD);
  });

  it('of a release: it happened or not, but not twice', () => {
    const doubtful = () => new Story().lock('a', granted(1)).unlock('a', 'failure', undefined, { token: 1 });
    expect(verdict(doubtful().lock('b', granted(2)))).toBe(GOOD);
    expect(verdict(doubtful().lock('b', queued('2.0')).lock('b', granted(3)))).toBe(GOOD);
    expect(verdict(doubtful().lock('a', granted(2)).lock('b', granted(3)))).toBe(BAD);
  });
});
