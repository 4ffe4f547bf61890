import { beforeEach, describe, expect, it } from 'vitest';
import { type Flight } from './flight.js';
import { type Flights } from './flights.js';
import { CODE } from './grpc/rpc-error.js';
import { ACTION } from './wire/messages.js';
import { WriteStream } from './write-stream.js';

const EMPTY = { ref: '', total: 0, expected: '', offset: 0, data: Buffer.alloc(0), labels: {} };
const commit = { ...EMPTY, action: ACTION.commit };
const unavailable = expect.objectContaining({ code: CODE.unavailable });

let steps: string[];
/** Ends what the flight does now. */
let done: () => void;
let stream: WriteStream;

const slowly = (name: string) =>
  new Promise<void>((resolve) => {
    steps.push(`${name} begins`);
    done = () => {
      steps.push(`${name} ends`);
      resolve();
    };
  });

const settled = async () => {
  for (let n = 0; n < 20; n++) await undefined;
};

beforeEach(async () => {
  steps = [];
  const flight: Flight = {
    offset: 0,
    digest: 'd',
    write: () => slowly('write'),
    restart: () => slowly('restart'),
    commit: () => slowly('commit').then(() => ({ digest: 'd', size: 0 })),
    close: async () => void steps.push('close'),
  };
  const flights = {
    enter: () => undefined,
    leave: () => steps.push('leave'),
    left: async () => undefined,
    open: async () => flight,
  } as unknown as Flights;
  stream = new WriteStream(flights, new AbortController().signal);
  await stream.answer({ ...EMPTY, ref: 'a', action: ACTION.stat });
});

describe('a write that is aborted', () => {
  it('while it is committed is committed, and closed after that', async () => {
    const answer = stream.answer(commit);
    await settled();
    const closed = stream.close();
    await settled();
    expect(steps).toEqual(['commit begins']);
    done();
    expect(await answer).toMatchObject({ digest: 'd' });
    await closed;
    expect(steps).toEqual(['commit begins', 'commit ends', 'close', 'leave']);
  });

  it('before it is committed is not', async () => {
    const answer = expect(stream.answer({ ...commit, data: Buffer.from('x') })).rejects.toEqual(unavailable);
    await settled();
    const closed = stream.close();
    done();
    await Promise.all([answer, closed]);
    expect(steps).toEqual(['write begins', 'write ends', 'close', 'leave']);
  });
});
