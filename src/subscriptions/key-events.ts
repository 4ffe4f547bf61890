import { type LockEvent } from '../core/events.js';
import { type Told } from '../core/opening.js';
import { eventFrame } from './sse-stream.js';

/** What subscribers of a key hear of; the rest is for those who follow everything. */
export function isForSubscribers(event: LockEvent): event is LockEvent & Pick<Told, 'name'> {
  return (
    !event.observersOnly &&
    (event.name === 'completed' || event.name === 'assigned' || event.name === 'failed')
  );
}

/** One event goes to many streams; its text is made once. */
const frames = new WeakMap<Told, string>();

export function keyFrame(told: Told, type: string, resourceId: string): string {
  let frame = frames.get(told);
  if (frame === undefined) {
    frame = eventFrame(eventId(told), told.name, keyEventData(told, type, resourceId));
    frames.set(told, frame);
  }
  return frame;
}

export function eventId({ moment }: { moment: { revision: number; n: number } }): string {
  return `${moment.revision}.${moment.n}`;
}

export function parseEventId(text: string | undefined): { revision: number; n: number } | undefined {
  const [, revision, n] = /^(\d{1,16})\.(\d{1,9})$/.exec(text ?? '') ?? [];
  return revision === undefined ? undefined : { revision: Number(revision), n: Number(n) };
}

function keyEventData({ nodeId, success, error, token, atMs }: Told, type: string, resourceId: string) {
  return {
    type,
    resource_id: resourceId,
    node_id: nodeId,
    success,
    error,
    completed_at: new Date(atMs).toISOString(),
    ...(token !== undefined && { token }),
  };
}
