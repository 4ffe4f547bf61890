import { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';

/** Of Express's table of routes and middleware, in the order in which they are tried. */
interface Layer {
  readonly handle: { readonly length: number };
  readonly route?: Route;
  match(path: string): boolean;
}

interface Route {
  readonly path: unknown;
  readonly stack: readonly { readonly handle: RequestHandler; readonly method: string | undefined }[];
  _handlesMethod(method: string): boolean;
}

/** Where a POST to a path goes. */
export interface DirectRoute {
  readonly route: Route;
  readonly handle: RequestHandler;
}

/** A path in which Express sees no pattern. */
const PLAIN = /^\/[\w/-]*$/;

/** `(error, request, response, next)`: not for requests that are in order. */
const ERROR_HANDLER_PARAMETERS = 4;

/**
 * Paths for which Express's search always ends in the same way: nothing matches them but the reader of bodies and one handler. For
 * these the search is made once. It takes longer than anything else of Express, with every request.
 *
 * A path that is written otherwise (in capitals, with a query, with another slash) is not found here, and Express has it.
 */
export class DirectRoutes {
  private table: ReadonlyMap<string, DirectRoute> = new Map();
  private layers = 0;
  private readonly idle: ReadonlySet<Layer>;

  /** What the app has by now does nothing; its owner sees to that. */
  constructor(
    private readonly app: Express,
    private readonly bodies: RequestHandler,
  ) {
    this.idle = new Set(this.stack);
  }

  find(path: string): DirectRoute | undefined {
    if (this.stack.length !== this.layers) this.search();
    return this.table.get(path);
  }

  /** As Express would have prepared them. */
  prepare(request: Request, response: Response, { route }: DirectRoute, next: NextFunction): void {
    request.res = response;
    request.originalUrl = request.url;
    request.baseUrl = '';
    request.params = {};
    request.next = next;
    request.route = route;
    response.locals = Object.create(null) as Response['locals'];
  }

  private get stack(): readonly Layer[] {
    return this.app.router.stack as unknown as readonly Layer[];
  }

  private search(): void {
    this.layers = this.stack.length;
    const paths = new Set(this.stack.map(({ route }) => route?.path));
    const found = new Map<string, DirectRoute>();
    for (const path of paths) {
      const only = typeof path === 'string' && PLAIN.test(path) ? this.onlyRoute(path) : undefined;
      if (only) found.set(path as string, only);
    }
    this.table = found;
  }

  private onlyRoute(path: string): DirectRoute | undefined {
    let readsBodies = false;
    for (const layer of this.stack) {
      const { route, handle } = layer;
      if (this.idle.has(layer) || !layer.match(path)) continue;
      if (handle === this.bodies) readsBodies = true;
      else if (!route && handle.length < ERROR_HANDLER_PARAMETERS) return undefined;
      else if (route?._handlesMethod('POST'))
        return readsBodies && route.path === path ? soleHandler(route) : undefined;
    }
    return undefined;
  }
}

function soleHandler(route: Route): DirectRoute | undefined {
  const [first, second] = route.stack;
  return first?.method === 'post' && !second ? { route, handle: first.handle } : undefined;
}
