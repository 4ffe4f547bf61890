import { parse, type ParsedUrlQuery } from 'node:querystring';
import { BadRequestException } from '@nestjs/common';

/** None: Node's limit on a request's headers (16 KB) bounds them, and a key past a limit would be silently lost. */
const MAX_KEYS = 0;

/**
 * A query string as strings, or arrays of strings for keys given more than once, so that validation sees them. No
 * nesting. Broken percent-encoding is 400, not replaced: two different broken names must not become the same one.
 */
export function parseQuery(query: string | null): ParsedUrlQuery {
  if (query?.includes('%')) assertDecodable(query);
  return parse(query ?? '', '&', '=', { maxKeys: MAX_KEYS });
}

function assertDecodable(query: string): void {
  try {
    decodeURIComponent(query);
  } catch (cause) {
    const message = 'The query string is not valid percent-encoded UTF-8.';
    throw new BadRequestException({ code: 'BAD_REQUEST', message }, { cause });
  }
}
