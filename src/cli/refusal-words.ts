import { type RefusedError } from '../client/index.js';

/** `said` is the fact in the server's words, without its advice. */
type Words = (said: string, resource: string) => string;

/** The server's advice is for who speaks HTTP; this is for who types commands. */
const WORDS: ReadonlyMap<string, Words> = new Map<string, Words>([
  [
    'RESOURCE_IN_USE',
    (said, resource) =>
      `${said}. Release the references first: "holdfast refs show --resource ${resource}" shows whose they are.`,
  ],
  ['LOCK_NOT_FOUND', (said) => `${said}: it was released meanwhile, or has expired.`],
  [
    'STALE_TOKEN',
    () =>
      'The lock has passed to another holder meanwhile; "holdfast locks" shows to whom. Nothing was changed.',
  ],
  ['SESSION_NOT_FOUND', (said) => `${said}. All that it held has been given up: run the command again.`],
  [
    'NOT_FOUND',
    () => 'The server does not know this request: it is of another version, or --server has a wrong path.',
  ],
]);

/** Codes that are not listed have words that do for everybody. */
export function refusalWords({ code, message, request }: RefusedError): string {
  const words = WORDS.get(code);
  return words ? words(message.split('. ')[0]!, resourceOf(request?.body)) : message;
}

function resourceOf(body = '{}'): string {
  const { resource_id: resource = 'ID' } = JSON.parse(body) as { resource_id?: string };
  return resource;
}
