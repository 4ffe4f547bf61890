/**
 * A point in a resource's history: the `n`-th event of the commit with this revision. Written `<revision>.<n>` in
 * event ids and tickets, and comparable within one resource.
 */
export interface Moment {
  readonly revision: number;
  readonly n: number;
}

/**
 * Stands for the revision of the commit that is being built. A revision is known only once the store has given it
 * out, so what is created in a commit carries this mark until `settle` puts the number in its place.
 */
export const THIS_COMMIT = 0;

export function isLater(a: Moment, b: Moment): boolean {
  return order(a.revision) - order(b.revision) > 0 || (a.revision === b.revision && a.n > b.n);
}

export function sameMoment(a: Moment, b: Moment): boolean {
  return a.revision === b.revision && a.n === b.n;
}

export function settleRevision(revision: number, committed: number): number {
  return revision === THIS_COMMIT ? committed : revision;
}

export function settleMoment(moment: Moment, committed: number): Moment {
  return moment.revision === THIS_COMMIT ? { revision: committed, n: moment.n } : moment;
}

/** The commit being built is later than everything committed. */
function order(revision: number): number {
  return revision === THIS_COMMIT ? Number.MAX_SAFE_INTEGER : revision;
}
