import { describe, expect, it } from 'vitest';
import { formatTicket, readTicket } from './ticket.js';

const moment = { revision: 1_760_000_000_000_123, n: 4 };
const ticket = formatTicket(moment, 'pull', 'sha256:abc', 'node-1');

describe('a ticket', () => {
  it('starts with the moment of queueing, written like an event id', () => {
    expect(ticket).toMatch(/^1760000000000123\.4\./);
  });

  it('is read back by its key and node', () => {
    expect(readTicket(ticket, 'pull', 'sha256:abc', 'node-1')).toEqual({ kind: 'ticket', moment });
  });

  it.each([
    ['update', 'sha256:abc'],
    ['pull', 'sha256:abd'],
  ])('of another key is bad input (%s of %s)', (type, resourceId) => {
    expect(readTicket(ticket, type, resourceId, 'node-1')).toEqual({
      kind: 'invalid',
      error: 'belongs to another key',
    });
  });

  it('of another node is foreign', () => {
    expect(readTicket(ticket, 'pull', 'sha256:abc', 'node-2')).toEqual({ kind: 'foreign' });
  });

  it('of another key is bad input whoever’s it is', () => {
    expect(readTicket(ticket, 'update', 'sha256:abc', 'node-2')).toMatchObject({ kind: 'invalid' });
  });

  it.each([
    '',
    'x',
    '1.2',
    '0.1.a.b',
    '-1.2.a.b',
    '9999999999999999.1.a.b',
    '1.2.a.b.c',
    ` ${ticket}`,
    `${ticket}\n`,
  ])('must look like one: %j is bad input', (text) => {
    expect(readTicket(text, 'pull', 'sha256:abc', 'node-1')).toEqual({
      kind: 'invalid',
      error: 'is not a ticket',
    });
  });
});
