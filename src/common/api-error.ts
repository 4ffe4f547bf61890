import { HttpException } from '@nestjs/common';

export interface ApiError {
  readonly status: number;
  readonly body: { readonly code: string; readonly message: string };
}

/** Errors of ours that are no HTTP errors say their status by their code. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  STORE_UNAVAILABLE: 503,
  STORE_IN_USE: 503,
  STORE_UNREADABLE: 503,
  STORE_LIMIT: 503,
};

/** How an error is told to a client; `undefined`: it is a defect of ours, and only the log says more. */
export function describeError(error: unknown): ApiError | undefined {
  if (error instanceof HttpException) return { status: error.getStatus(), body: bodyOf(error) };
  const { code, message } = error as { code?: string; message?: string };
  const status = STATUS_OF_CODE[code ?? ''];
  if (code === undefined || message === undefined || status === undefined) return undefined;
  return { status, body: { code, message } };
}

export const INTERNAL_ERROR: ApiError = {
  status: 500,
  body: { code: 'INTERNAL', message: 'Something is wrong in Holdfast itself; its log says what.' },
};

function bodyOf(error: HttpException): ApiError['body'] {
  const body = error.getResponse();
  if (typeof body === 'object' && 'code' in body) return body as ApiError['body'];
  const name = error.name.replace(/Exception$/, '');
  const code = name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  return {
    code,
    message: error.message.replace(/^Cannot ([A-Z]+ \/.*)$/, 'There is no $1: GET / says where things are.'),
  };
}
