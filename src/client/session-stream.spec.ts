import { describe, expect, it, vi } from 'vitest';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { readAnswerHead } from './http/answer-head.js';
import { type AnswerListener } from './http/answer-reader.js';
import { Session } from './session.js';
import { SessionStream } from './session-stream.js';

const SNAPSHOT = 'event: snapshot\ndata: {"waits":[]}\n\n';

function scene() {
  const clock = new SimulatedClock();
  const handlers: AnswerListener[] = [];
  const abandon = vi.fn();
  const listener = { snapshot: vi.fn(), event: vi.fn(), down: vi.fn(), refused: vi.fn() };
  const opener = {
    open: (_path: string, handler: AnswerListener) => {
      handlers.push(handler);
      return abandon;
    },
    moveOn: vi.fn(),
  };
  const stream = new SessionStream(opener, clock, 1000, listener);
  const say = (text: string) => handlers.at(-1)!.onData(Buffer.from(text));
  const head = (status: number, type = 'text/event-stream; charset=utf-8') =>
    handlers.at(-1)!.onHead(readAnswerHead(`HTTP/1.1 ${status} OK\r\ncontent-type: ${type}`));
  return { clock, handlers, abandon, listener, stream, say, head };
}

const session = new Session('s', 60_000, '', 0);

describe('the stream of a session', () => {
  it('is heard from its snapshot on, and is one for all', async () => {
    const { stream, handlers, head, say, listener } = scene();
    const heard = Promise.all([stream.isHeard(session), stream.isHeard(session)]);
    head(200);
    say(SNAPSHOT.slice(0, 9));
    say(SNAPSHOT.slice(9));
    expect(await heard).toEqual([true, true]);
    expect(handlers).toHaveLength(1);
    say('id: 1.0\nevent: assigned\ndata: {"resource_id":"x"}\n\n: heartbeat\n\n');
    expect(listener.event).toHaveBeenCalledWith(session, 'assigned', { resource_id: 'x' });
  });

  it('is heard from the last part of its snapshot on', async () => {
    const { stream, head, say, listener } = scene();
    const onHeard = vi.fn();
    void stream.isHeard(session).then(onHeard);
    head(200);
    say('event: snapshot\ndata: {"waits":[1],"more":true}\n\n');
    say('id: 1.0\nevent: assigned\ndata: {"resource_id":"x"}\n\n');
    await settled();
    expect(listener.event).toHaveBeenCalledTimes(1);
    expect(onHeard).not.toHaveBeenCalled();
    say('event: snapshot\ndata: {"waits":[2],"more":false}\n\n');
    await settled();
    expect(onHeard).toHaveBeenCalledWith(true);
    const parts = [
      { waits: [1], more: true },
      { waits: [2], more: false },
    ];
    expect(listener.snapshot.mock.calls).toEqual([[session, parts]]);
  });

  it('whose snapshot never ends is given up', async () => {
    const { stream, head, say, listener } = scene();
    const heard = stream.isHeard(session);
    head(200);
    const padding = 'x'.repeat(8 * 1024 * 1024);
    for (let part = 0; part < 9; part++)
      say(`event: snapshot\ndata: {"waits":["${padding}"],"more":true}\n\n`);
    expect(await heard).toBe(false);
    expect(listener.snapshot).not.toHaveBeenCalled();
  });

  it('that gives no snapshot within seconds is left alone for a while', async () => {
    const { clock, stream, handlers, head } = scene();
    const heard = stream.isHeard(session);
    head(200);
    await clock.advance(3000);
    expect(await heard).toBe(false);
    await clock.advance(29_000);
    expect(await stream.isHeard(session)).toBe(false);
    expect(handlers).toHaveLength(1);
    await clock.advance(1000);
    void stream.isHeard(session);
    expect(handlers).toHaveLength(2);
  });

  it('is given up after two and a half heartbeats of silence, not before', async () => {
    const { clock, stream, head, say, listener, abandon } = scene();
    void stream.isHeard(session);
    head(200);
    say(SNAPSHOT);
    for (let beats = 0; beats < 5; beats++) {
      await clock.advance(2400);
      say(': heartbeat\n\n');
    }
    expect(listener.down).not.toHaveBeenCalled();
    await clock.advance(2500);
    expect(listener.down).toHaveBeenCalledTimes(1);
    expect(abandon).toHaveBeenCalledTimes(1);
  });

  it('is given up after two and a half of the heartbeats that its snapshot tells', async () => {
    const { clock, stream, head, say, listener } = scene();
    void stream.isHeard(session);
    head(200);
    say('event: snapshot\ndata: {"waits":[],"heartbeat_ms":100}\n\n');
    await clock.advance(249);
    expect(listener.down).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(listener.down).toHaveBeenCalledTimes(1);
    await clock.advance(30_000);
    void stream.isHeard(session);
    head(200);
    say('event: snapshot\ndata: {"waits":[],"heartbeat_ms":60000}\n\n');
    await clock.advance(149_999);
    expect(listener.down).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expect(listener.down).toHaveBeenCalledTimes(2);
  });

  it('whose snapshot tells no time that could be one is held to the usual', async () => {
    const { clock, stream, head, say, listener } = scene();
    void stream.isHeard(session);
    head(200);
    say('event: snapshot\ndata: {"waits":[],"heartbeat_ms":0}\n\n');
    await clock.advance(2499);
    expect(listener.down).not.toHaveBeenCalled();
  });

  it('says nothing more when it is given up, or closed, in the middle of what came', () => {
    for (const middle of ['event: odd\ndata: nonsense\n\n', 'event: last\ndata: {}\n\n']) {
      const { stream, head, say, listener } = scene();
      listener.event.mockImplementation((_session, name) => name === 'last' && stream.close());
      void stream.isHeard(session);
      head(200);
      say(`${SNAPSHOT}${middle}event: late\ndata: {}\n\n`);
      expect(listener.event).not.toHaveBeenCalledWith(session, 'late', {});
    }
  });

  it('that was open for a while is opened again at once when it is cut; one that was not, later', async () => {
    const { clock, stream, handlers, head, say } = scene();
    void stream.isHeard(session);
    head(200);
    say(SNAPSHOT);
    await clock.advance(1500);
    handlers[0]!.onError(new Error('cut'));
    const again = stream.isHeard(session);
    expect(handlers).toHaveLength(2);
    handlers[1]!.onError(new Error('refused'));
    expect(await again).toBe(false);
    expect(await stream.isHeard(session)).toBe(false);
    await clock.advance(1000);
    void stream.isHeard(session);
    expect(handlers).toHaveLength(3);
  });

  it.each([
    ['a page', 200, 'text/html'],
    ['an error', 502, 'text/event-stream'],
  ])('that is %s is none', async (_name, status, type) => {
    const { stream, head } = scene();
    const heard = stream.isHeard(session);
    head(status, type);
    expect(await heard).toBe(false);
  });

  it('that is refused says so, and is left alone while the session lasts', async () => {
    const { stream, handlers, head, listener } = scene();
    const heard = stream.isHeard(session);
    head(403, 'application/json');
    expect(await heard).toBe(false);
    expect(listener.refused).toHaveBeenCalledWith(session);
    expect(await stream.isHeard(session)).toBe(false);
    stream.close();
    void stream.isHeard(new Session('next', 60_000, '', 0));
    expect(handlers).toHaveLength(2);
  });

  it('of another session takes its place', async () => {
    const { stream, handlers, head, say, listener } = scene();
    void stream.isHeard(session);
    head(200);
    say(SNAPSHOT);
    const other = new Session('other', 60_000, '', 0);
    void stream.isHeard(other);
    await settled();
    expect(handlers).toHaveLength(2);
    expect(listener.down).not.toHaveBeenCalled();
  });
});
