/** What reference counts mean for each operation. The only place that says so; the server and the content side share it. */

export function skipsWhenReferenced(type: string): boolean {
  return type === 'pull';
}

export function refusedWhenReferenced(type: string, updateRequiresNoRef: boolean): boolean {
  return type === 'delete' || (type === 'update' && updateRequiresNoRef);
}

/** What a success of this operation does to the counts. */
export function referenceEffect(type: string): 'add-node' | 'drop-all' | 'none' {
  if (type === 'pull') return 'add-node';
  if (type === 'delete') return 'drop-all';
  return 'none';
}
