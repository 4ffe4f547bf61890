import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultyRegistry } from '../support/registry/faulty-registry.js';
import { blobsOf, digestOf, makeImage } from '../support/registry/image.js';
import { pushImage } from '../support/registry/push-image.js';
import { RegistryServer } from '../support/registry/registry-server.js';
import { SharedLink } from '../support/registry/shared-link.js';

const image = makeImage({ layerSizes: [20_000, 40_000], seed: 1 });
const [, first, second] = blobsOf(image);

async function download(url: string, digest: string): Promise<Buffer> {
  const answer = await fetch(`${url}/v2/team/demo/blobs/${digest}`);
  if (!answer.ok) throw new Error(String(answer.status));
  return Buffer.from(await answer.arrayBuffer());
}

describe('the private registry of the tests', () => {
  let registry: RegistryServer;

  beforeAll(async () => {
    registry = await RegistryServer.start();
    await pushImage(registry.url, 'team/demo', image);
  }, 60_000);

  afterAll(() => registry.destroy());

  it('serves the image and logs every fetch of a blob with its bytes', async () => {
    await registry.forget();
    const manifest = await fetch(`${registry.url}/v2/team/demo/manifests/latest`, {
      headers: { accept: image.manifest.mediaType },
    });
    expect(digestOf(Buffer.from(await manifest.arrayBuffer()))).toBe(image.manifest.digest);
    await download(registry.url, first!.digest);
    await download(registry.url, first!.digest);
    await download(registry.url, second!.digest);
    const log = await registry.accessLog();
    expect(Object.fromEntries(log.fetchesByDigest('team/demo'))).toEqual({
      [first!.digest]: 2,
      [second!.digest]: 1,
    });
    expect(log.blobBytes('team/demo')).toBe(2 * first!.bytes.length + second!.bytes.length);
    expect(log.blobBytes('demo')).toBe(0);
  });

  it('is as slow behind a shared link as was asked for, and slower for two', async () => {
    const link = await SharedLink.start(registry.port, 200_000);
    const begin = performance.now();
    const bodies = await Promise.all([second, second].map((blob) => download(link.url, blob!.digest)));
    expect(performance.now() - begin).toBeGreaterThan(350);
    expect(bodies.map(digestOf)).toEqual([second!.digest, second!.digest]);
    link.close();
  });

  it('answers badly through a faulty one', async () => {
    const faulty = await FaultyRegistry.start(registry.url);
    const { digest, bytes } = first!;
    faulty.faultOf = (_, n) =>
      [{ status: 429 }, { cutAfter: 1000 }, { wrongByteAt: 5 }, { missing: 7 }, { missing: -7 }][n - 1];
    await expect(download(faulty.url, digest)).rejects.toThrow('429');
    await expect(download(faulty.url, digest)).rejects.toThrow('terminated');
    const wrong = await download(faulty.url, digest);
    expect([wrong.length, digestOf(wrong) === digest]).toEqual([bytes.length, false]);
    await expect(download(faulty.url, digest)).resolves.toHaveLength(bytes.length - 7);
    await expect(download(faulty.url, digest)).resolves.toHaveLength(bytes.length + 7);
    await expect(download(faulty.url, digest)).resolves.toEqual(bytes);
    expect(faulty.of(digest)).toHaveLength(6);
    faulty.close();
  });
});
