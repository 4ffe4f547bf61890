// What `pull-image.mjs` needs of a registry: the list of an image's blobs, and their bytes. Anonymous access only.
//
// Not by `fetch`: a body that ends while nobody reads ends the process (nodejs/undici#5360).
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { arch } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const MOST_TRIES = 4;
const RETRY_MS = 500;

const INDEXES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** `fatal` is heeded by Holdfast: what does not exist, nobody need try again. */
class RegistryError extends Error {
  constructor(status, message, { retryAfterMs = RETRY_MS, cause } = {}) {
    super(message, { cause });
    this.fatal = status === 404 || status === 410;
    this.isPassing = status === 0 || status === 408 || status === 429 || status >= 500;
    this.retryAfterMs = retryAfterMs;
  }
}

/** `127.0.0.1:5000/team/demo:latest`: where the repository is, and which image of it. */
export function parseReference(reference) {
  const [, host, name, tag = 'latest', digest] =
    /^([^/]+)\/([^:@]+)(?::([\w][\w.-]*))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(reference) ?? [];
  if (!host) throw new Error(`Not an image: ${reference}. Write REGISTRY/NAME:TAG.`);
  const scheme = /^(localhost|127\.\d+\.\d+\.\d+)(:|$)/.test(host) ? 'http' : 'https';
  return { repository: `${scheme}://${host}/v2/${name}`, tag: digest ?? tag };
}

/** The configuration and the layers, as `{ digest, size }`; of an image for several platforms, those of this one. */
export async function blobsOf({ repository, tag }) {
  const accept = [...INDEXES, ...MANIFESTS].join(', ');
  const answer = await ask(`${repository}/manifests/${tag}`, { accept });
  const manifest = JSON.parse(await text(answer));
  if (!manifest.manifests) return [manifest.config, ...manifest.layers];
  const architecture = arch() === 'x64' ? 'amd64' : arch();
  const own = manifest.manifests.find(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === architecture,
  );
  if (!own) throw new Error(`${repository} has no ${tag} for linux/${architecture}.`);
  return blobsOf({ repository, tag: own.digest });
}

/** What the writer of a blob still lacks. A busy registry is asked again when it says so; a broken connection is resumed. */
export async function download(url, writer) {
  for (let tries = 1; ; tries++) {
    try {
      return await downloadRest(url, writer);
    } catch (error) {
      if (!error.isPassing || tries === MOST_TRIES) throw error;
      await sleep(error.retryAfterMs);
    }
  }
}

async function downloadRest(url, writer) {
  if (writer.offset === writer.total) return;
  const headers = writer.offset > 0 ? { range: `bytes=${writer.offset}-` } : {};
  const body = await ask(url, headers, writer.offset > 0 ? 206 : 200);
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await chunks.next().catch(brokenOff);
    if (done) return;
    await writer.write(value);
  }
}

async function ask(url, headers, expected = 200) {
  const answer = await new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? getHttps : getHttp;
    get(url, { headers }, resolve).on('error', reject);
  }).catch(brokenOff);
  const { statusCode: status, headers: told } = answer;
  if (status === expected) return answer;
  answer.resume();
  if (status >= 301 && status <= 308 && told.location)
    return ask(new URL(told.location, url).href, headers, expected);
  const seconds = Number(told['retry-after']);
  const retryAfterMs = seconds > 0 ? seconds * 1000 : undefined;
  throw new RegistryError(status, `${url} was answered with ${status}`, { retryAfterMs });
}

function brokenOff(cause) {
  throw new RegistryError(0, `the connection to the registry broke off (${cause.message || cause.code})`, {
    cause,
  });
}
