/** One request for a blob's bytes, as the registry has logged it. */
export interface BlobFetch {
  readonly image: string;
  readonly digest: string;
  readonly status: number;
  /** Of the body, as far as it was sent. */
  readonly bytes: number;
}

const BLOB_FETCH = /"GET \/v2\/(\S+)\/blobs\/(sha256:[0-9a-f]{64}) HTTP\/1\.[01]" (\d{3}) (\d+)/;

/** The access log of a registry: what was really downloaded. */
export class AccessLog {
  private lines: string[] = [];

  add(line: string): void {
    this.lines.push(line);
  }

  includes(text: string): boolean {
    return this.lines.some((line) => line.includes(text));
  }

  clear(): void {
    this.lines = [];
  }

  get size(): number {
    return this.lines.length;
  }

  blobFetches(image: string): BlobFetch[] {
    return this.lines.flatMap((line) => blobFetchOf(line) ?? []).filter((fetch) => fetch.image === image);
  }

  /** How often each blob was asked for. */
  fetchesByDigest(image: string): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { digest } of this.blobFetches(image)) counts.set(digest, (counts.get(digest) ?? 0) + 1);
    return counts;
  }

  blobBytes(image: string): number {
    return this.blobFetches(image).reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

export function blobFetchOf(line: string): BlobFetch | undefined {
  const match = BLOB_FETCH.exec(line);
  if (!match) return undefined;
  const [, image, digest, status, bytes] = match;
  return { image: image!, digest: digest!, status: Number(status), bytes: Number(bytes) };
}
