import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FastExpressAdapter } from '../../src/common/express/fast-express.adapter.js';
import { adoptMessageClasses } from '../../src/common/express/message-classes.js';
import { serveExpress } from './servers.js';

/** How often `Object.setPrototypeOf` was called on a message, and how often that changed anything. */
function countSwaps(): { readonly calls: number; readonly swaps: number } {
  const count = { calls: 0, swaps: 0 };
  const original = Object.setPrototypeOf;
  vi.spyOn(Object, 'setPrototypeOf').mockImplementation((object: object, prototype: object | null) => {
    if (object instanceof IncomingMessage || object instanceof ServerResponse) {
      count.calls++;
      if (Object.getPrototypeOf(object) !== prototype) count.swaps++;
    }
    return original(object, prototype);
  });
  return count;
}

async function answerOf(adapter: FastExpressAdapter, build: (app: Express) => void, path = '/') {
  const server = await serveExpress(adapter, build);
  try {
    return await (await fetch(server.url + path)).json();
  } finally {
    await server.close();
  }
}

describe('the prototypes of requests and responses', () => {
  afterEach(() => vi.restoreAllMocks());

  it('are those that Express wants before Express sees them, and after', async () => {
    const adapter = new FastExpressAdapter();
    const app = adapter.getInstance<Express>();
    const same = (req: Request, res: Response) =>
      Object.getPrototypeOf(req) === app.request && Object.getPrototypeOf(res) === app.response;
    let before: boolean | undefined;
    const answer = await answerOf(adapter, () => {
      adapter.getHttpServer().prependListener('request', (req: Request, res: Response) => {
        before = same(req, res);
      });
      app.get('/', (req, res) => void res.json({ after: same(req, res) }));
    });
    expect({ before, answer }).toEqual({ before: true, answer: { after: true } });
  });

  it('are set by Express and never changed by it', async () => {
    const count = countSwaps();
    await answerOf(new FastExpressAdapter(), (app) => app.get('/', (_, res) => void res.json({})));
    expect(count).toEqual({ calls: 2, swaps: 0 });
  });

  it('are swapped twice a request by Express alone, which is what this is about', async () => {
    const app = express();
    app.get('/', (_, res) => void res.json({}));
    const server = createServer(app).listen(0);
    const count = countSwaps();
    const { port } = server.address() as { port: number };
    await (await fetch(`http://127.0.0.1:${port}`)).json();
    server.close();
    expect(count.swaps).toBe(2);
  });

  it('carry everything that Express gives its own', () => {
    const app = express();
    const plain = express();
    adoptMessageClasses(app);
    for (const which of ['request', 'response'] as const) {
      const base = (which === 'request' ? IncomingMessage : ServerResponse).prototype as object;
      for (let from: object = plain[which]; from !== base; from = Object.getPrototypeOf(from) as object) {
        for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
          const copied = Object.getOwnPropertyDescriptor(app[which], name);
          expect(copied, name).toEqual(name === 'app' ? { ...descriptor, value: app } : descriptor);
        }
      }
    }
  });

  it('belong to classes that are real subclasses of those of node:http', () => {
    const app = express();
    const classes = adoptMessageClasses(app);
    expect(Object.getPrototypeOf(classes.IncomingMessage.prototype)).toBe(IncomingMessage.prototype);
    expect(Object.getPrototypeOf(classes.ServerResponse.prototype)).toBe(ServerResponse.prototype);
    expect(app.request.constructor).toBe(classes.IncomingMessage);
  });

  it('lead to the app and its settings', async () => {
    const answer = await answerOf(new FastExpressAdapter(), (app) => {
      app.set('colour', 'green');
      app.get('/', (req, res) => void res.json([req.app === app, res.app === app, res.app.get('colour')]));
    });
    expect(answer).toEqual([true, true, 'green']);
  });

  it('are those of an app mounted below while it works, and ours again after it', async () => {
    const adapter = new FastExpressAdapter();
    const answer = await answerOf(
      adapter,
      (app) => {
        const below = express();
        below.use((req, res, next) => {
          res.locals['below'] = [req.app === below, req.path, req.get('host') !== undefined];
          next();
        });
        app.use('/below', below);
        app.use('/below', (req, res) => void res.json([...res.locals['below'], req.app === app]));
      },
      '/below/here',
    );
    expect(answer).toEqual([true, '/here', true, true]);
  });

  it('are not shared by two apps in one process', async () => {
    const first = new FastExpressAdapter();
    const second = new FastExpressAdapter();
    const name = (app: Express) => app.get('/', (req, res) => void res.json(req.app.get('name')));
    first.set('name', 'first');
    second.set('name', 'second');
    expect(await Promise.all([answerOf(first, name), answerOf(second, name)])).toEqual(['first', 'second']);
  });
});
