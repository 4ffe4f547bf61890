import { type LockEvent } from '../core/events.js';
import { type Told } from '../core/opening.js';
import { eventFrame, type Frame } from './frame.js';

/** What subscribers of a key hear of; the rest is for those who follow everything. */
export function isForSubscribers(event: LockEvent): event is LockEvent & Pick<Told, 'name'> {
  return (
    !event.observersOnly &&
    (event.name === 'completed' || event.name === 'assigned' || event.name === 'failed')
  );
}

export function keyFrame(told: Told, type: string, resourceId: string): Frame {
  const { nodeId, success, error, token, atMs } = told;
  return eventFrame(eventId(told), told.name, {
    type,
    resource_id: resourceId,
    node_id: nodeId,
    success,
    error,
    completed_at: new Date(atMs).toISOString(),
    ...(token !== undefined && { token }),
  });
}

/** One event goes to every observer, and to as many sessions as wait for its key. */
const observerFrames = new WeakMap<LockEvent, Frame>();

/** For those who follow everything, or a whole session. */
export function observerFrame(resourceId: string, event: LockEvent): Frame {
  let frame = observerFrames.get(event);
  if (!frame) {
    frame = eventFrame(eventId(event), event.name, observerData(resourceId, event));
    observerFrames.set(event, frame);
  }
  return frame;
}

/** `undefined`: no id that was ever given out. Revisions begin at 1. */
export function parseEventId(text: string | undefined): { revision: number; n: number } | undefined {
  const [, revision, n] = /^([1-9]\d{0,15})\.(\d{1,9})$/.exec(text ?? '') ?? [];
  return revision === undefined ? undefined : { revision: Number(revision), n: Number(n) };
}

function eventId({ moment }: { moment: { revision: number; n: number } }): string {
  return `${moment.revision}.${moment.n}`;
}

function observerData(resourceId: string, event: LockEvent) {
  return {
    ...(event.type !== '' && { type: event.type }),
    resource_id: resourceId,
    node_id: event.nodeId,
    ...(event.sessionId !== undefined && { session_id: event.sessionId }),
    success: event.success,
    error: event.error,
    completed_at: new Date(event.atMs).toISOString(),
    ...(event.token !== undefined && { token: event.token }),
    ...(event.dismissed > 0 && { dismissed: event.dismissed }),
    reference_count: event.referenceCount,
  };
}
