import { type IncomingMessage, type ServerResponse } from 'node:http';
import { Logger, NotFoundException } from '@nestjs/common';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import { type DirectRoute, DirectRoutes } from './common/express/direct-routes.js';
import { FastExpressAdapter } from './common/express/fast-express.adapter.js';
import { HoldfastResponse } from './server-response.js';

/** Answers under way when the server is told to stop have this long; the process must be gone after five seconds. */
const DRAIN_MS = 2000;

/** How soon a connection is closed after its last answer while the server is stopping. */
const SWEEP_MS = 20;

/** Of an error that says more, the log has the beginning. */
const LOGGED_CHARACTERS = 300;

/**
 * The adapter of the server itself. Answers of 500 and above are logged with the id of their request, directly behind the
 * line that says what was wrong. `close` lets answers under way finish, and then waits for nobody. Requests to paths of which nobody
 * but one controller wants to know go there without Express's search for it.
 */
export class ServerAdapter extends FastExpressAdapter {
  private readonly failures = new Logger('Http');
  private readonly direct: DirectRoutes;
  private registerLast = (): void => undefined;
  private onError: ErrorRequestHandler | undefined;
  private isHooked = false;

  constructor() {
    const app = express();
    super(app, HoldfastResponse);
    // All it has now is the place of `ExpressAdapter`'s hooks.
    this.direct = new DirectRoutes(app, this.bodies.handle);
  }

  override setOnRequestHook(...args: Parameters<FastExpressAdapter['setOnRequestHook']>): void {
    this.isHooked = true;
    super.setOnRequestHook(...args);
  }

  override setOnResponseHook(...args: Parameters<FastExpressAdapter['setOnResponseHook']>): void {
    this.isHooked = true;
    super.setOnResponseHook(...args);
  }

  override setErrorHandler(...args: Parameters<FastExpressAdapter['setErrorHandler']>): unknown {
    this.onError = args[0] as ErrorRequestHandler;
    return super.setErrorHandler(...args);
  }

  /** Registers routes behind those of the controllers: every request is compared with all routes before its own. */
  routeLast(register: () => void): void {
    this.registerLast = register;
  }

  override setNotFoundHandler(...args: Parameters<FastExpressAdapter['setNotFoundHandler']>): unknown {
    this.registerLast();
    return super.setNotFoundHandler(...args);
  }

  override reply(response: HoldfastResponse, body: unknown, statusCode?: number): unknown {
    const status = statusCode ?? response.statusCode;
    if (status >= 500) this.logFailure(response, status, body);
    return super.reply(response, body, statusCode);
  }

  /** Connections kept alive by their clients would keep the process alive, too. */
  override async close(): Promise<void> {
    const closed = super.close();
    const sweep = setInterval(() => this.httpServer.closeIdleConnections(), SWEEP_MS);
    const cut = setTimeout(() => this.httpServer.closeAllConnections(), DRAIN_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
  }

  protected override serve(request: IncomingMessage, response: ServerResponse): void {
    const isDirect = request.method === 'POST' && !this.isHooked && this.onError !== undefined;
    const route = isDirect ? this.direct.find(request.url!) : undefined;
    if (route) this.serveDirectly(request as Request, response as Response, route);
    else super.serve(request, response);
  }

  /** No controller of ours hands a request on; where there is none further on, Express, too, has nothing but 404. */
  private serveDirectly(request: Request, response: Response, route: DirectRoute): void {
    const fail = (error: unknown): void =>
      void this.onError!(error ?? new NotFoundException(), request, response, fail);
    this.direct.prepare(request, response, route, fail);
    this.bodies.handle(request, response, (error: unknown) => {
      if (error === undefined) void route.handle(request, response, fail);
      else fail(error);
    });
  }

  private logFailure(response: HoldfastResponse, status: number, body: unknown): void {
    const { method, originalUrl: url } = response.req as Request;
    const { code, message } = (body ?? {}) as { code?: string; message?: string };
    const error = status === 500 ? undefined : message?.slice(0, LOGGED_CHARACTERS);
    const line = { request_id: response.requestId, method, url, status, code, error };
    if (status === 500) this.failures.error(line);
    else this.failures.warn(line);
  }
}
