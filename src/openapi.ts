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
import { type RefusalCode } from './core/results.js';
import { refusalBody } from './locking/wire/refusals.js';
import { VERSION } from './version.js';
import { SessionDto, SessionEndedDto, SessionRenewedDto } from './sessions/dto/session.dto.js';

interface Answers {
  readonly ok: Type | 'text/event-stream' | 'text/plain';
  /** A body that is taken as it is: what `/docs` sends unless somebody changes it. */
  readonly asks?: object;
  /** Of what is not JSON. */
  readonly example?: string;
  /** Beside those that every endpoint of its kind has. */
  readonly errors?: readonly number[];
}

const KEY = { type: 'pull', resource_id: 'sha256:4f4e', node_id: 'node-1' };
const DONE = { ...KEY, success: true };
const REFERENCE = { resource_id: 'sha256:4f4e', node_id: 'node-1' };

const KEY_EVENT = `id: 1794803267073003.0
event: completed
data: {"type":"pull","resource_id":"sha256:4f4e","node_id":"node-1","success":true,"error":"","completed_at":"2026-11-16T04:27:48.607Z","token":1794803267073001}

`;

const SNAPSHOT = `event: snapshot
data: {"locks":[],"more":false,"heartbeat_ms":15000}

`;

const SESSION_SNAPSHOT = `event: snapshot
data: {"session_id":"LOf1wRrgfdj-rYIJkjgn5A","claim_timeout_ms":10000,"heartbeat_ms":15000,"holds":[],"waits":[],"more":false}

`;

const KEY_STREAM: Answers = { ok: 'text/event-stream', example: KEY_EVENT };

/** What each endpoint answers. An endpoint that is missing here fails a test. */
const ANSWERS: Readonly<Record<string, Answers>> = {
  'post /lock': { ok: LockAnswerDto, asks: KEY, errors: [403, 429] },
  'post /unlock': { ok: UnlockAnswerDto, asks: DONE, errors: [403] },
  'post /lock/renew': { ok: RenewAnswerDto, asks: KEY, errors: [403] },
  'post /lock/cancel': { ok: CancelAnswerDto, asks: KEY },
  'get /lock/status': { ok: StatusAnswerDto },
  'post /lock/status': { ok: StatusAnswerDto, asks: KEY },
  'post /lock/batch': { ok: BatchAnswerDto, asks: { requests: [KEY] } },
  'post /unlock/batch': { ok: BatchAnswerDto, asks: { requests: [DONE] } },
  'post /lock/renew/batch': { ok: BatchAnswerDto, asks: { requests: [KEY] } },
  'get /locks': { ok: LockListDto },
  'post /locks/release': {
    ok: UnlockAnswerDto,
    asks: { type: 'pull', resource_id: 'sha256:4f4e', reason: 'the node is gone' },
    errors: [403],
  },
  'get /refcounts': { ok: ReferencesDto, errors: [409] },
  'post /refcounts/add': { ok: ReferenceAnswerDto, asks: REFERENCE, errors: [403, 409] },
  'post /refcounts/release': { ok: ReferenceAnswerDto, asks: REFERENCE, errors: [409] },
  'post /refcounts/release-node': { ok: ReleasedNodeDto, asks: { node_id: 'node-1' }, errors: [409, 501] },
  'post /sessions': { ok: SessionDto, asks: { node_id: 'node-1' } },
  'post /sessions/{id}/renew': { ok: SessionRenewedDto, errors: [403] },
  'delete /sessions/{id}': { ok: SessionEndedDto },
  'get /sessions/{id}/events': { ok: 'text/event-stream', example: SESSION_SNAPSHOT, errors: [403] },
  'get /lock/subscribe': KEY_STREAM,
  'get /subscribe': KEY_STREAM,
  'get /events': { ok: 'text/event-stream', example: SNAPSHOT },
  'get /metrics': { ok: 'text/plain' },
};

interface DescribedError {
  readonly description: string;
  readonly body: Type;
  readonly example?: object;
}

const refusal = (code: RefusalCode, error: string): object => refusalBody({ kind: 'refused', code, error });

const ERRORS: Readonly<Record<number, DescribedError>> = {
  400: {
    description: 'The request is not in order; nothing was changed.',
    body: BadRequestDto,
    example: {
      code: 'BAD_REQUEST',
      message: 'node_id is required',
      fields: { node_id: ['node_id is required'] },
    },
  },
  403: {
    description: 'Refused; `code` says why.',
    body: RefusalDto,
    example: refusal('RESOURCE_IN_USE', 'in use by 2 nodes'),
  },
  409: {
    description: 'The clients count references (REFCOUNT_MODE=client).',
    body: RefusalDto,
    example: refusal('REFCOUNT_DISABLED', 'references are counted by the clients (REFCOUNT_MODE=client)'),
  },
  413: {
    description: 'The body is too large.',
    body: ErrorDto,
    example: { code: 'BODY_TOO_LARGE', message: 'The body may take at most 65536 bytes.' },
  },
  415: {
    description: 'The body is not application/json.',
    body: ErrorDto,
    example: {
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'Send the body as application/json in UTF-8.',
    },
  },
  429: {
    description: 'The queue is full; see Retry-After.',
    body: RefusalDto,
    example: refusal('QUEUE_FULL', '10000 are waiting already'),
  },
  501: { description: 'The storage of reference counts cannot list by node.', body: ErrorDto },
  503: { description: 'The store does not answer, nothing was changed; see Retry-After.', body: ErrorDto },
};

const MODELS = [
  ...Object.values(ANSWERS).map(({ ok }) => ok),
  ...Object.values(ERRORS).map(({ body }) => body),
];

/** In the order in which somebody meets them. */
const TAGS = {
  locks: 'Ask, report the outcome, look.',
  events: 'Hear how the work ends, as server-sent events.',
  sessions: 'Liveness of a process: one keep-alive for everything it holds and waits for.',
  references: 'Who uses a resource.',
  operating: 'For those who run it.',
};

/** The API as a document. */
export function openApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Holdfast')
    .setDescription('Makes many nodes do a piece of work once: a distributed lock that knows outcomes.')
    .setVersion(VERSION);
  for (const [name, description] of Object.entries(TAGS)) config.addTag(name, description);
  const extraModels = MODELS.filter((model) => typeof model !== 'string');
  const document = SwaggerModule.createDocument(app, config.build(), { extraModels });
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      operation.operationId = operationId(method, path);
      const answers = ANSWERS[`${method} ${path}`];
      if (!answers) continue;
      operation.responses = responses(answers, method, path);
      const { requestBody } = operation;
      if (answers.asks && requestBody && 'content' in requestBody)
        requestBody.content['application/json']!.example = answers.asks;
    }
  }
  return document;
}

const METHODS = ['get', 'post', 'delete'] as const;

/** What generated clients call it: `post /lock/renew` is `postLockRenew`. */
function operationId(method: string, path: string): string {
  const words = path.split(/\W+/).filter((word) => word !== '');
  return method + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

type Responses = NonNullable<NonNullable<OpenAPIObject['paths'][string]['get']>['responses']>;

function responses({ ok, example, errors = [] }: Answers, method: string, path: string): Responses {
  const description = ok === 'text/event-stream' ? 'Events, until the connection breaks.' : 'Done.';
  const described: Responses = { 200: { description, content: contentOf(ok, example) } };
  const usual = path === '/metrics' ? [] : method === 'post' ? [400, 413, 415, 503] : [400, 503];
  for (const status of [...usual, ...errors]) {
    const { description, body, example: wrong } = ERRORS[status]!;
    described[status] = { description, content: contentOf(body, wrong) };
  }
  return described;
}

function contentOf(body: Answers['ok'], example?: string | object) {
  const [contentType, schema] =
    typeof body === 'string'
      ? [body, { type: 'string' }]
      : ['application/json', { $ref: getSchemaPath(body) }];
  return { [contentType]: { schema, ...(example !== undefined && { example }) } };
}
