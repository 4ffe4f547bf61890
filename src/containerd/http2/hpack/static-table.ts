/** A header field. */
export interface Field {
  readonly name: string;
  readonly value: string;
}

const VALUES = [
  [':authority', ''],
  [':method', 'GET', 'POST'],
  [':path', '/', '/index.html'],
  [':scheme', 'http', 'https'],
  [':status', '200', '204', '206', '304', '400', '404', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
] as const;

const NAMES =
  'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control ' +
  'content-disposition content-encoding content-language content-length content-location content-range content-type ' +
  'cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since ' +
  'last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after ' +
  'server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate';

/** RFC 7541, appendix A. The first is number 1. */
export const STATIC_TABLE: readonly Field[] = [
  ...VALUES.flatMap(([name, ...values]) => values.map((value) => ({ name, value }))),
  ...NAMES.split(' ').map((name) => ({ name, value: '' })),
];
