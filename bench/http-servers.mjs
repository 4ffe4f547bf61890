// The servers that bench/http-floor.mjs compares, each answering `POST /lock` of ~120 B with ~120 B. As a program:
// `node bench/http-servers.mjs NAME` serves one on a free port and sends the
// port; any message is answered with the processor time used.
import 'reflect-metadata';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Body, Controller, HttpCode, Module, Post, UseGuards, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { IsOptional } from 'class-validator';
import { AppModule } from '../dist/app.module.js';
import { createServer as createApp } from '../dist/server.js';
import { FastExpressAdapter } from '../dist/common/express/fast-express.adapter.js';
import { CompiledValidationPipe } from '../dist/common/validation/compiled-validation.pipe.js';
import * as is from '../dist/common/validation/decorators.js';

const BODY = JSON.stringify({
  type: 'update',
  resource_id: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d#',
  node_id: 'worker-17.example.internal',
});

export const REQUESTS = [
  { path: '/lock', body: BODY },
  { path: '/unlock', body: BODY },
];

const ANSWER = {
  acquired: true,
  skip: false,
  message: 'The lock is yours.',
  isolation: 'operation',
  token: 1234567890123,
  lease_ms: 3600000,
};

class LockDto {}
for (const [property, decorators] of Object.entries({
  type: [is.IsOperationType()],
  resource_id: [is.IsResourceId()],
  node_id: [is.IsNodeId()],
  session_id: [is.IsSessionId(), IsOptional()],
  subtype: [is.IsSubtype(), IsOptional()],
  lease_ms: [is.IsLeaseMs(), IsOptional()],
  token: [is.IsToken(), IsOptional()],
})) {
  for (const decorate of decorators) decorate(LockDto.prototype, property);
}

class KnownNodes {
  canActivate(context) {
    return context.switchToHttp().getRequest().body.node_id !== 'unknown';
  }
}

class LockController {
  lock({ type }) {
    return { ...ANSWER, message: `The lock on ${type} is yours.` };
  }
}
// What TypeScript would make of decorators.
const lock = Object.getOwnPropertyDescriptor(LockController.prototype, 'lock');
Reflect.defineMetadata('design:paramtypes', [LockDto], LockController.prototype, 'lock');
Body()(LockController.prototype, 'lock', 0);
for (const decorate of [Post(['lock', 'unlock']), HttpCode(200)])
  decorate(LockController.prototype, 'lock', lock);
Controller()(LockController);

function moduleWith(...decorators) {
  class Room extends LockController {}
  for (const decorate of [Controller(), ...decorators]) decorate(Room);
  class App {}
  Module({ controllers: [Room] })(App);
  return App;
}

async function startNest(adapter, pipe, ...decorators) {
  const app = await NestFactory.create(moduleWith(...decorators), adapter, { logger: false });
  if (pipe) app.useGlobalPipes(pipe);
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}

function startBare() {
  const server = createServer((req, res) => {
    const chunks = [];
    req.on('data', (chunk) => chunks.push(chunk));
    req.on('end', () => {
      const { type } = JSON.parse(Buffer.concat(chunks).toString());
      const json = JSON.stringify({ ...ANSWER, message: `The lock on ${type} is yours.` });
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) });
      res.end(json);
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/** All of Holdfast as it is served, with its log on standard output. */
async function startApp() {
  process.env.STORE_URL = 'memory:';
  const app = await createApp(AppModule);
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}

export const SERVERS = {
  bare: { title: 'bare `node:http`, parse + answer JSON', start: startBare },
  stock: {
    title: 'Nest on ExpressAdapter, ValidationPipe',
    start: () => startNest(new ExpressAdapter(), new ValidationPipe({ whitelist: true, transform: true })),
  },
  adapter: {
    title: 'Nest on FastExpressAdapter, no pipe, no guard',
    start: () => startNest(new FastExpressAdapter()),
  },
  fast: {
    title: 'Nest on FastExpressAdapter, CompiledValidationPipe, one guard',
    start: () => startNest(new FastExpressAdapter(), new CompiledValidationPipe(), UseGuards(KnownNodes)),
  },
  app: { title: 'the whole app, `memory:`, `LOG_LEVEL=info`', start: startApp },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await SERVERS[process.argv[2]].start();
  process.send({ port: server.address().port });
  process.on('message', () => process.send(process.cpuUsage()));
  process.once('disconnect', () => process.exit());
}
