import { fnv1a } from './fnv1a.js';
import { type Moment } from './moment.js';

/**
 * A ticket on the wire: `<revision>.<n>.<key>.<node>`, the last two as fingerprints. It names the key, the node and the
 * moment of queueing, and grants nothing by itself, so that a forged one only fools its forger.
 */
export function formatTicket(moment: Moment, type: string, resourceId: string, nodeId: string): string {
  return `${moment.revision}.${moment.n}.${fingerprint(`${type}:${resourceId}`)}.${fingerprint(nodeId)}`;
}

export type TicketReading =
  | { readonly kind: 'ticket'; readonly moment: Moment }
  /** Another node's: ignored. */
  | { readonly kind: 'foreign' }
  /** Another key's, or no ticket at all: bad input. */
  | { readonly kind: 'invalid'; readonly error: string };

export function readTicket(text: string, type: string, resourceId: string, nodeId: string): TicketReading {
  const [, revision, n, key, node] = PATTERN.exec(text) ?? [];
  if (revision === undefined || !Number.isSafeInteger(Number(revision))) {
    return { kind: 'invalid', error: 'is not a ticket' };
  }
  if (key !== fingerprint(`${type}:${resourceId}`))
    return { kind: 'invalid', error: 'belongs to another key' };
  if (node !== fingerprint(nodeId)) return { kind: 'foreign' };
  return { kind: 'ticket', moment: { revision: Number(revision), n: Number(n) } };
}

const PATTERN = /^([1-9]\d{0,15})\.(\d{1,9})\.([0-9a-z]+)\.([0-9a-z]+)$/;

function fingerprint(text: string): string {
  return fnv1a(text).toString(36);
}
