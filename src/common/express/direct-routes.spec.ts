import express, { type Express, type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { DirectRoutes } from './direct-routes.js';

const bodies: RequestHandler = (_request, _response, next) => next();
const handler: RequestHandler = (_request, response) => void response.end();
const other: RequestHandler = (_request, _response, next) => next();

function found(path: string, build: (app: Express) => void): RequestHandler | undefined {
  const app = express();
  const routes = new DirectRoutes(app, bodies);
  build(app);
  return routes.find(path)?.handle;
}

describe('a route is direct', () => {
  it('if nothing but the reader of bodies stands before its one handler', () => {
    const build = (app: Express) =>
      app.use(bodies).get('/lock', other).post('/locks', other).post('/lock', handler);
    expect(found('/lock', build)).toBe(handler);
  });

  it('beside routes of other methods and middleware of other paths, and before what comes later', () => {
    const build = (app: Express) =>
      app
        .use(bodies)
        .use('/docs', other)
        .get('/lock', other)
        .post('/lock', handler)
        .use(other)
        .post('/lock', other);
    expect(found('/lock', build)).toBe(handler);
  });

  it('whoever handles errors', () => {
    const onError = (_error: unknown, _request: unknown, _response: unknown, next: () => void) => next();
    expect(found('/lock', (app) => app.use(bodies).use(onError).post('/lock', handler))).toBe(handler);
  });

  it('as soon as it is registered', () => {
    const app = express().use(bodies);
    const routes = new DirectRoutes(express(), bodies);
    expect(routes.find('/lock')).toBeUndefined();
    const later = new DirectRoutes(app, bodies);
    app.use(bodies).post('/lock', handler);
    expect(later.find('/lock')?.handle).toBe(handler);
    app.post('/unlock', other);
    expect(later.find('/unlock')?.handle).toBe(other);
  });
});

describe('a route is not direct', () => {
  it.each<[string, (app: Express) => unknown]>([
    ['behind middleware', (app) => app.use(bodies).use(other).post('/lock', handler)],
    ['behind middleware of its path', (app) => app.use(bodies).use('/lock', other).post('/lock', handler)],
    ['where bodies are not read', (app) => app.post('/lock', handler)],
    ['where bodies are read behind it', (app) => app.post('/lock', handler).use(bodies)],
    ['with several handlers', (app) => app.use(bodies).post('/lock', other, handler)],
    ['for every method', (app) => app.use(bodies).all('/lock', handler)],
    [
      'behind a pattern that matches it',
      (app) => app.use(bodies).post('/:any', other).post('/lock', handler),
    ],
    [
      'behind its path in other letters',
      (app) => app.use(bodies).post('/LOCK', other, other).post('/lock', handler),
    ],
    ['for another method', (app) => app.use(bodies).put('/lock', handler)],
  ])('%s', (_case, build) => {
    expect(found('/lock', build)).toBeUndefined();
  });

  it('if it is a pattern, even to a path that is written like it', () => {
    expect(found('/sessions/:id', (app) => app.use(bodies).post('/sessions/:id', handler))).toBeUndefined();
  });

  it('to a path that is written otherwise', () => {
    const build = (app: Express) => app.use(bodies).post('/lock', handler);
    for (const path of [
      '/LOCK',
      '/lock/',
      '/lock?',
      '/lock?x=1',
      '//lock',
      'lock',
      '/%6cock',
      '*',
      '__proto__',
    ])
      expect(found(path, build), path).toBeUndefined();
  });
});
