import { type INestApplication, type Type } from '@nestjs/common';
import { DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import {
  BadRequestDto,
  BatchAnswerDto,
  CancelAnswerDto,
  ErrorDto,
  LockAnswerDto,
  LockListDto,
  ReferenceAnswerDto,
  ReferencesDto,
  RefusalDto,
  ReleasedNodeDto,
  RenewAnswerDto,
  StatusAnswerDto,
  UnlockAnswerDto,
} from './locking/dto/answers.dto.js';
import { SessionDto, SessionEndedDto, SessionRenewedDto } from './sessions/dto/session.dto.js';

interface Answers {
  readonly ok: Type | 'text/event-stream' | 'text/plain';
  /** Beside those that every endpoint of its kind has. */
  readonly errors?: readonly number[];
}

const STREAM: Answers = { ok: 'text/event-stream' };

/** What each endpoint answers. An endpoint that is missing here fails a test. */
const ANSWERS: Readonly<Record<string, Answers>> = {
  'post /lock': { ok: LockAnswerDto, errors: [403, 429] },
  'post /unlock': { ok: UnlockAnswerDto, errors: [403] },
  'post /lock/renew': { ok: RenewAnswerDto, errors: [403] },
  'post /lock/cancel': { ok: CancelAnswerDto },
  'get /lock/status': { ok: StatusAnswerDto },
  'post /lock/status': { ok: StatusAnswerDto },
  'post /lock/batch': { ok: BatchAnswerDto },
  'post /unlock/batch': { ok: BatchAnswerDto },
  'get /locks': { ok: LockListDto },
  'post /locks/release': { ok: UnlockAnswerDto, errors: [403] },
  'get /refcounts': { ok: ReferencesDto, errors: [409] },
  'post /refcounts/add': { ok: ReferenceAnswerDto, errors: [403, 409] },
  'post /refcounts/release': { ok: ReferenceAnswerDto, errors: [409] },
  'post /refcounts/release-node': { ok: ReleasedNodeDto, errors: [409, 501] },
  'post /sessions': { ok: SessionDto },
  'post /sessions/{id}/renew': { ok: SessionRenewedDto, errors: [403] },
  'delete /sessions/{id}': { ok: SessionEndedDto },
  'get /sessions/{id}/events': { ...STREAM, errors: [403] },
  'get /lock/subscribe': STREAM,
  'get /subscribe': STREAM,
  'get /events': STREAM,
  'get /metrics': { ok: 'text/plain' },
};

const ERRORS: Readonly<Record<number, { readonly description: string; readonly body: Type }>> = {
  400: { description: 'The request is not in order; nothing was changed.', body: BadRequestDto },
  403: { description: 'Refused; `code` says why.', body: RefusalDto },
  409: { description: 'The clients count references (REFCOUNT_MODE=client).', body: RefusalDto },
  413: { description: 'The body is too large.', body: ErrorDto },
  415: { description: 'The body is not application/json.', body: ErrorDto },
  429: { description: 'The queue is full; see Retry-After.', body: RefusalDto },
  501: { description: 'The storage of reference counts cannot list by node.', body: ErrorDto },
  503: { description: 'The store does not answer, nothing was changed; see Retry-After.', body: ErrorDto },
};

const MODELS = [
  ...Object.values(ANSWERS).map(({ ok }) => ok),
  ...Object.values(ERRORS).map(({ body }) => body),
];

/** The API as a document. */
export function openApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Holdfast')
    .setDescription('Makes many nodes do a piece of work once: a distributed lock that knows outcomes.')
    .setVersion('0.1.0')
    .build();
  const extraModels = MODELS.filter((model) => typeof model !== 'string');
  const document = SwaggerModule.createDocument(app, config, { extraModels });
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      const answers = ANSWERS[`${method} ${path}`];
      if (operation && answers) operation.responses = responses(answers, method, path);
    }
  }
  return document;
}

const METHODS = ['get', 'post', 'delete'] as const;

type Responses = NonNullable<NonNullable<OpenAPIObject['paths'][string]['get']>['responses']>;

function responses({ ok, errors = [] }: Answers, method: string, path: string): Responses {
  const described: Responses = { 200: { description: 'Done.', content: contentOf(ok) } };
  const usual = path === '/metrics' ? [] : method === 'post' ? [400, 413, 415, 503] : [400, 503];
  for (const status of [...usual, ...errors]) {
    const { description, body } = ERRORS[status]!;
    described[status] = { description, content: contentOf(body) };
  }
  return described;
}

function contentOf(body: Answers['ok']) {
  return typeof body === 'string'
    ? { [body]: { schema: { type: 'string' } } }
    : { 'application/json': { schema: { $ref: getSchemaPath(body) } } };
}
