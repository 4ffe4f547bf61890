/** The numbers of RFC 9113, as far as a server of calls needs them. */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const FRAME_HEADER_BYTES = 9;

/** What every peer takes without being asked, and the most that is taken here. */
export const MAX_FRAME_BYTES = 16_384;

export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_WINDOW_BYTES = 2 ** 31 - 1;

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const SETTING = {
  headerTableSize: 1,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxHeaderListSize: 6,
} as const;

export const H2_ERROR = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export type H2ErrorCode = (typeof H2_ERROR)[keyof typeof H2_ERROR];

/** The peer broke the protocol in a way that ends the connection. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(
    readonly code: H2ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(H2_ERROR.protocol, message);
}
