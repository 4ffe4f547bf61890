import {
  BadRequestException,
  type HttpException,
  PayloadTooLargeException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';

/** Why a body was not read. Each carries `{ code, message }`, as every error of the API does. */
export function bodyTooLarge(limitBytes: number): HttpException {
  const message = `The body may take at most ${limitBytes} bytes.`;
  return new PayloadTooLargeException({ code: 'BODY_TOO_LARGE', message });
}

export function unsupportedMediaType(message: string): HttpException {
  return new UnsupportedMediaTypeException({ code: 'UNSUPPORTED_MEDIA_TYPE', message });
}

export function invalidJson(message: string): HttpException {
  return new BadRequestException({ code: 'INVALID_JSON', message });
}
