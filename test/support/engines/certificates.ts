import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineBinary } from './engine-binary.js';

/** An authority and one certificate of it, for servers and clients on the loopback. */
export class Certificates {
  private readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
  readonly ca = join(this.directory, 'ca.pem');
  readonly cert = join(this.directory, 'cert.pem');
  readonly key = join(this.directory, 'key.pem');

  constructor() {
    const caKey = join(this.directory, 'ca-key.pem');
    const request = join(this.directory, 'request.pem');
    const extensions = join(this.directory, 'extensions');
    writeFileSync(extensions, 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n');
    this.openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=test authority',
      '-keyout',
      caKey,
      '-out',
      this.ca,
    );
    this.openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=127.0.0.1',
      '-keyout',
      this.key,
      '-out',
      request,
    );
    this.openssl(
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      this.ca,
      '-CAkey',
      caKey,
      '-CAcreateserial',
      '-days',
      '2',
      '-extfile',
      extensions,
      '-out',
      this.cert,
    );
  }

  /** As parameters of a `STORE_URL`. */
  get query(): string {
    return `ca=${this.ca}&cert=${this.cert}&key=${this.key}`;
  }

  destroy(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  private openssl(...args: string[]): void {
    execFileSync(engineBinary('openssl'), args, { stdio: 'pipe' });
  }
}
