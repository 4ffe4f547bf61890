import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ContentError } from '../errors.js';

/** containerd's refs are a namespace, an image name and a digest; registries end names at 255. */
const MAX_NAME_LENGTH = 4096;

/**
 * Where everything is:
 *
 *     blobs/sha256/<hex>                         whole, verified, never changed
 *     ingest/<node>/<ref>.<token>.<random>/data  bytes on their way, of one writer; `about.json` beside it
 *     tokens/<hex>/<token>                       the highest fencing tokens seen, as names of empty files
 *     deleting/<hex>.<token>                     a delete that is about to look who uses the blob
 *     trash/<hex>.<token>                        a blob on its way out, or back
 *
 * Names of nodes and refs are hashed; nothing of what a caller passes becomes part of a path as it is.
 */
export class Layout {
  readonly blobs: string;
  readonly ingests: string;
  readonly tokens: string;
  readonly deleting: string;
  readonly trash: string;

  constructor(root: string) {
    this.blobs = join(root, 'blobs', 'sha256');
    this.ingests = join(root, 'ingest');
    this.tokens = join(root, 'tokens');
    this.deleting = join(root, 'deleting');
    this.trash = join(root, 'trash');
  }

  blob(hex: string): string {
    return join(this.blobs, hex);
  }

  trashed({ hex, token }: Marked): string {
    return join(this.trash, `${hex}.${token}`);
  }

  ingestsOf(nodeId: string): string {
    return join(this.ingests, nodeName(nodeId));
  }
}

export interface Marked {
  readonly hex: string;
  readonly token: number;
}

/** A name of `trash/` or `deleting/`; `undefined` for what is not ours. */
export function readMarked(name: string): Marked | undefined {
  const [, hex, token] = /^([0-9a-f]{64})\.(\d{1,16})$/.exec(name) ?? [];
  return hex !== undefined && token !== undefined ? { hex, token: Number(token) } : undefined;
}

/** A readable beginning, so that a person finds a node's directory, and enough of a hash to tell nodes apart. */
export function nodeName(nodeId: string): string {
  const readable = checkedName('A node id', nodeId)
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 40);
  return `${readable}-${sha256(nodeId).slice(0, 32)}`;
}

export function refName(ref: string): string {
  return sha256(checkedName('A ref', ref));
}

function checkedName(what: string, name: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) return name;
  throw new ContentError('INVALID_NAME', `${what} must be text of 1 to ${MAX_NAME_LENGTH} characters.`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
