import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { compiled } from '../support/compiled.js';
import { blobsOf, makeImage } from '../support/registry/image.js';
import { pushImage } from '../support/registry/push-image.js';
import { RegistryServer } from '../support/registry/registry-server.js';
import { directoryOf, isolating } from './setup.js';

const run = promisify(execFile);

/** The example with the compiled sources in the place of the package. */
function examples(): string {
  const directory = directoryOf();
  let text = readFileSync('examples/pull-image.mjs', 'utf8');
  for (const name of ['client', 'content']) {
    text = text.replace(`holdfast/${name}`, pathToFileURL(compiled(`src/${name}/index.ts`)).href);
  }
  writeFileSync(join(directory, 'pull-image.mjs'), text);
  copyFileSync('examples/registry.mjs', join(directory, 'registry.mjs'));
  return join(directory, 'pull-image.mjs');
}

it('examples/pull-image.mjs downloads an image once for all nodes and says what it did', async () => {
  const [server, registry] = await Promise.all([isolating(), RegistryServer.start()]);
  onTestFinished(() => registry.destroy());
  const image = makeImage({ layerSizes: [30_000, 20_000, 10_000, 5000], seed: 11 });
  await pushImage(registry.url, 'team/demo', image, '1.0');
  const program = examples();
  const directory = directoryOf();
  const pull = (nodeId: string, reference: string) => {
    const env = { ...process.env, HOLDFAST_URL: server.url, NODE_ID: nodeId };
    return run(process.execPath, [program, `127.0.0.1:${registry.port}/${reference}`, directory], { env });
  };

  const outputs = await Promise.all(['n1', 'n2', 'n3'].map((nodeId) => pull(nodeId, 'team/demo:1.0')));
  const lines = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'));
  const blobs = blobsOf(image);
  for (const { digest, bytes } of blobs) {
    const own = lines.filter((line) => line.startsWith(digest.slice(0, 19)));
    expect(own).toHaveLength(3);
    expect(own.filter((line) => line.endsWith(`${bytes.length} bytes  downloaded`))).toHaveLength(1);
  }
  const downloaded = lines.flatMap(
    (line) => /^5 blobs, (\d+) bytes downloaded by this node$/.exec(line)?.[1] ?? [],
  );
  const unique = blobs.reduce((sum, { bytes }) => sum + bytes.length, 0);
  expect(downloaded.reduce((sum, bytes) => sum + Number(bytes), 0)).toBe(unique);
  expect((await registry.accessLog()).blobBytes('team/demo')).toBe(unique);
  expect(readdirSync(join(directory, 'blobs/sha256'))).toHaveLength(blobs.length);

  await expect(pull('n1', 'team/demo:2.0')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('was answered with 404'),
  });
});
