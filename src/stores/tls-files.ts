import { readFileSync } from 'node:fs';
import { badUrl, type EngineUrl } from './engine-url.js';
import { StoreError } from './store.error.js';

/** Paths of PEM files; none of them: the system's authorities and no certificate of our own. */
export interface TlsFiles {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface TlsMaterial {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/** `ca`, `cert` and `key` of the url, if it is one with TLS. */
export function tlsFilesOf(url: EngineUrl, tls: boolean): TlsFiles | undefined {
  const files = { ca: url.text('ca'), cert: url.text('cert'), key: url.text('key') };
  if ((files.cert === undefined) !== (files.key === undefined)) throw badUrl('cert and key need each other');
  if (tls) return files;
  if (files.ca !== undefined || files.cert !== undefined) throw badUrl('ca, cert and key need TLS');
  return undefined;
}

export function readTlsFiles({ ca, cert, key }: TlsFiles): TlsMaterial {
  return { ca: readPem('ca', ca), cert: readPem('cert', cert), key: readPem('key', key) };
}

function readPem(name: string, path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const message = `STORE_URL: the file ${path} that ${name} names cannot be read.`;
    throw new StoreError('STORE_UNAVAILABLE', 'open', message, error);
  }
}
