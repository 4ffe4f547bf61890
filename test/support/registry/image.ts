import { createCipheriv, createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { tarLayer } from './tar-layer.js';

export interface Blob {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export interface Layer extends Blob {
  /** The digest of what is in it, unpacked. */
  readonly diffId: string;
}

export interface Image {
  readonly config: Blob;
  readonly layers: readonly Blob[];
  readonly manifest: Blob;
}

export interface ImageOptions {
  /** Of the one file in each layer: the layer is one to two KB larger. */
  readonly layerSizes: readonly number[];
  /** Other seeds give other bytes. */
  readonly seed: number;
}

/** An OCI image of random bytes which depend on the seed alone. */
export function makeImage({ layerSizes, seed }: ImageOptions): Image {
  return imageOf(
    layerSizes.map((size, n) => {
      const bytes = tarLayer(`layer-${n}`, randomBytes(size, `${seed}/${n}`));
      const layer = blob('application/vnd.oci.image.layer.v1.tar', bytes);
      return { ...layer, diffId: layer.digest };
    }),
  );
}

/** A layer as registries have most of them. */
export function gzippedLayer(tar: Buffer): Layer {
  return { ...blob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(tar)), diffId: digestOf(tar) };
}

export function imageOf(layers: readonly Layer[]): Image {
  const config = json('application/vnd.oci.image.config.v1+json', {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = json('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor(config),
    layers: layers.map(descriptor),
  });
  return { config, layers, manifest };
}

/** What a node downloads as blobs: the configuration and the layers. */
export function blobsOf({ config, layers }: Image): Blob[] {
  return [config, ...layers];
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function blob(mediaType: string, bytes: Buffer): Blob {
  return { digest: digestOf(bytes), mediaType, bytes };
}

function json(mediaType: string, value: object): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function descriptor({ mediaType, digest, bytes }: Blob): object {
  return { mediaType, digest, size: bytes.length };
}

function randomBytes(size: number, seed: string): Buffer {
  const key = createHash('sha256').update(seed).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}
