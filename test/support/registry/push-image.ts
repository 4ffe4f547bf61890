import { type Blob, blobsOf, type Image } from './image.js';

/** By the registry's own API: one upload for each blob, then the manifest. */
export async function pushImage(
  registryUrl: string,
  name: string,
  image: Image,
  tag = 'latest',
): Promise<void> {
  for (const blob of blobsOf(image)) await pushBlob(`${registryUrl}/v2/${name}`, blob);
  const { bytes, mediaType } = image.manifest;
  await expectStatus(201, 'PUT', `${registryUrl}/v2/${name}/manifests/${tag}`, bytes, mediaType);
}

async function pushBlob(repository: string, { digest, bytes }: Blob): Promise<void> {
  const upload = await expectStatus(202, 'POST', `${repository}/blobs/uploads/`);
  const address = new URL(upload.headers.get('location')!);
  address.searchParams.set('digest', digest);
  await expectStatus(201, 'PUT', address.href, bytes, 'application/octet-stream');
}

async function expectStatus(
  status: number,
  method: string,
  url: string,
  body?: Buffer,
  type?: string,
): Promise<Response> {
  const headers = type === undefined ? {} : { 'content-type': type };
  const answer = await fetch(url, { method, headers, body: body ? new Uint8Array(body) : null });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return answer;
}
