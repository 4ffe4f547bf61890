import pino from 'pino';
import { expect, it } from 'vitest';
import { type LockEvent } from '../core/events.js';
import { EventBus } from '../subscriptions/event-bus.js';
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

async function logged(level: string, ...events: LockEvent[]): Promise<string[]> {
  const lines: string[] = [];
  const bus = new EventBus(clock);
  const log = new EventLog(
    bus,
    pino({ level, base: null }, { write: (line) => void lines.push(line) }),
    clock,
  );
  log.onModuleInit();
  for (const one of events) bus.publish([{ resourceId: 'sha256:1', events: [one] }]);
  expect(lines, 'before the answers').toEqual([]);
  await settled();
  log.onModuleDestroy();
  return lines;
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

it('writes what has just happened when the server stops', () => {
  const lines: string[] = [];
  const bus = new EventBus(clock);
  const log = new EventLog(bus, pino({ base: null }, { write: (line) => void lines.push(line) }), clock);
  log.onModuleInit();
  bus.publish([{ resourceId: 'sha256:1', events: [event({})] }]);
  log.onModuleDestroy();
  expect(lines).toHaveLength(1);
});

it('is silent above its level', async () => {
  expect(await logged('warn', event({}))).toEqual([]);
});
