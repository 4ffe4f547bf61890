import { describe, expect, it } from 'vitest';
import { type EventName, type LockEvent } from '../core/events.js';
import { EventBus } from './event-bus.js';
import { ResourceListeners } from './resource-listeners.js';
import { SimulatedClock } from '../../test/support/simulated-clock.js';

const clock = new SimulatedClock();

function event(name: EventName): LockEvent {
  return {
    name,
    moment: { revision: 1, n: 0 },
    type: 'pull',
    nodeId: 'n1',
    sessionId: undefined,
    success: false,
    error: '',
    token: undefined,
    atMs: 0,
    sinceMs: undefined,
    dismissed: 0,
    referenceCount: 0,
    observersOnly: false,
  };
}

describe('ResourceListeners', () => {
  it('tells those who listen to the resource, until they stop', () => {
    const bus = new EventBus(clock);
    const listeners = new ResourceListeners(bus);
    const heard: string[] = [];
    const stop = listeners.listen('a', () => heard.push('a'));
    listeners.listen('b', () => heard.push('b'));
    bus.publish([{ resourceId: 'a', events: [event('granted')] }]);
    bus.publish([{ resourceId: 'b', events: [event('granted')] }]);
    stop();
    bus.publish([{ resourceId: 'a', events: [event('completed')] }]);
    expect(heard).toEqual(['a', 'b']);
    expect(listeners.size).toBe(1);
  });

  it('bothers nobody with the queueing of others', () => {
    const bus = new EventBus(clock);
    const listeners = new ResourceListeners(bus);
    let heard = 0;
    listeners.listen('a', () => heard++);
    bus.publish([{ resourceId: 'a', events: [event('queued'), event('queued')] }]);
    expect(heard).toBe(0);
    bus.publish([{ resourceId: 'a', events: [event('queued'), event('withdrawn')] }]);
    expect(heard).toBe(1);
  });

  it('makes those look again who may have missed something', () => {
    const bus = new EventBus(clock);
    const listeners = new ResourceListeners(bus);
    const heard: string[] = [];
    for (const name of ['a', 'b']) listeners.listen(name, () => heard.push(name));
    bus.missed({ concerns: (resourceId) => resourceId === 'b' });
    expect(heard).toEqual(['b']);
  });
});
