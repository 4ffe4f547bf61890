import pino from 'pino';
import { expect, it } from 'vitest';
import { type LockEvent } from '../core/events.js';
import { EventBus } from '../subscriptions/event-bus.js';
import { CollectedLog } from '../../test/support/collected-log.js';
import { settled, SimulatedClock } from '../../test/support/simulated-clock.js';
import { EventLog } from './event-log.js';

const clock = new SimulatedClock();

const event = (fields: Partial<LockEvent>): LockEvent => ({
  name: 'granted',
  moment: { revision: 7, n: 0 },
  type: 'pull',
  nodeId: 'a "quoted" näme',
  sessionId: undefined,
  success: false,
  error: '',
  token: undefined,
  atMs: 1,
  sinceMs: undefined,
  dismissed: 0,
  referenceCount: null,
  observersOnly: false,
  ...fields,
});

function newLog(level: string) {
  const bus = new EventBus(clock);
  const collected = new CollectedLog();
  const log = new EventLog(bus, pino({ level }), collected.lines, clock);
  log.onModuleInit();
  return { bus, log, collected };
}

async function logged(level: string, resourceId: string, ...events: LockEvent[]): Promise<string[]> {
  const { bus, log, collected } = newLog(level);
  for (const one of events) bus.publish([{ resourceId, events: [one] }]);
  expect(collected.read(), 'before the answers').toEqual([]);
  await settled();
  log.onModuleDestroy();
  return collected.read();
}

function byPino(fields: object, message: string): string {
  let written = '';
  const timestamp = () => `,"time":${clock.wallMs()}`;
  pino({ base: null, timestamp }, { write: (line) => void (written = line) }).info(fields, message);
  return written;
}

it('writes what pino would write, after the answers', async () => {
  const node = 'a "quoted" näme';
  expect(
    await logged(
      'info',
      'sha256:1',
      event({ token: 5 }),
      event({ name: 'queued', nodeId: 'b', sessionId: 's\\' }),
      event({ name: 'failed', token: 5, error: 'line 1\nline 2', dismissed: 2 }),
      event({ name: 'referenced', type: '', nodeId: 'b' }),
    ),
  ).toEqual([
    byPino({ key: 'pull:sha256:1', node, holder: node, token: 5 }, 'granted'),
    byPino({ key: 'pull:sha256:1', node: 'b', session: 's\\', holder: node }, 'queued'),
    byPino({ key: 'pull:sha256:1', node, token: 5, error: 'line 1\nline 2', dismissed: 2 }, 'failed'),
    byPino({ key: 'sha256:1', node: 'b' }, 'referenced'),
  ]);
});

it('escapes whatever a name may have in it', async () => {
  const name = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).join('') + '𝄞€\ud800';
  expect(await logged('info', name, event({ nodeId: name, sessionId: name, error: name }))).toEqual([
    byPino({ key: `pull:${name}`, node: name, session: name, holder: name, error: name }, 'granted'),
  ]);
});

it('writes what has just happened when the server stops', () => {
  const { bus, log, collected } = newLog('info');
  bus.publish([{ resourceId: 'sha256:1', events: [event({})] }]);
  log.onModuleDestroy();
  expect(collected.read()).toHaveLength(1);
});

it('is silent above its level', async () => {
  expect(await logged('warn', 'sha256:1', event({}))).toEqual([]);
});
