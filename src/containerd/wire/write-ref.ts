/** What stands before the digest where the ref is one of a pull: `layer-sha256:…`, `layer-<name>@sha256:…`. */
const PULL = /(?:^|\/)(?:manifest|index|layer|config|unknown)-(?:[^/]*@)?(sha256:[0-9a-f]{64})$/;

/**
 * The digest that a ref announces. containerd calls a pull's blobs `<namespace>/<n>/layer-<digest>` (or manifest, index, config,
 * unknown); other refs, such as those of `ctr content ingest`, announce nothing.
 */
export function announcedDigest(ref: string): string | undefined {
  return PULL.exec(ref)?.[1];
}
