/** A limit on everything that can grow, each with the reason for its number. */

/** A layer digest is 71 characters; image references with registry and path stay under this. */
export const MAX_RESOURCE_ID_LENGTH = 512;

/** Host names end at 253. */
export const MAX_NODE_ID_LENGTH = 256;

/** The server makes them (22 characters); room for a longer form later. */
export const MAX_SESSION_ID_LENGTH = 64;

/** Kept in last outcomes and sent in events: enough for the head of a stack trace, too little to fill a record. */
export const MAX_ERROR_BYTES = 4096;

/**
 * Operations with state of their own on one resource. Three are ours; the rest is room for users' own names.
 * The bound keeps a resource's table of contents small.
 */
export const MAX_TYPES_PER_RESOURCE = 64;

/**
 * Unspent dismissals of one key, the oldest dropped first: twice the default queue, so that two full queues in a row
 * can be dismissed before anybody comes back.
 */
export const MAX_DISMISSALS = 20_000;

/**
 * A chunk of a long list is closed at this size. Chunks are the unit of writing, so a large one makes each enqueue
 * dearer and a small one makes a commit of ten thousand entries too many writes for etcd (128 by default): at about
 * 100 bytes a waiter, a full queue is some 40 chunks. With the largest entry on top it stays under half of
 * what a store must take.
 */
export const CHUNK_BYTES = 24 * 1024;

export const TYPE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Lanes are configured by name; the names look like types. */
export const SUBTYPE_PATTERN = TYPE_PATTERN;

/** Two numbers of up to 16 digits and two fingerprints fit three times over. */
export const MAX_TICKET_LENGTH = 128;

/** More than a year is a mistake of a unit, and 0 already means "never ends". */
export const MAX_LEASE_MS = 365 * 24 * 60 * 60 * 1000;
