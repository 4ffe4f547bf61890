import { IncomingMessage, ServerResponse } from 'node:http';
import { type Express } from 'express';

export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Makes the messages of this app's server what Express would turn them into, from birth.
 *
 * Express gives every request and response another prototype (`app.request`, `app.response`) when it arrives, and V8
 * then gives up its fast paths for both objects: four fifths of what Express costs. Here both prototypes belong to
 * real classes, which the server instantiates itself, so that Express's `Object.setPrototypeOf` finds nothing to
 * change. The classes must be real: constructors that borrow Express's own prototype objects are slower than doing
 * nothing.
 *
 * What an app adds to `app.request` or `app.response`, before or after, is seen. What anybody adds to
 * `express.request` or `express.response` afterwards is not. An app mounted below this one still swaps
 * prototypes, rightly, for the requests that reach it.
 *
 * `Response`: what the responses are beside that.
 */
export function adoptMessageClasses(app: Express, Response = ServerResponse): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends Response<Request> {}
  copyChain(app.request, IncomingMessage.prototype, ExpressRequest.prototype);
  copyChain(app.response, ServerResponse.prototype, ExpressResponse.prototype);
  app.request = ExpressRequest.prototype as Express['request'];
  app.response = ExpressResponse.prototype as Express['response'];
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

/** Copies what `from` has of its own and inherits below `base`; the nearest of two with one name wins. */
function copyChain(from: object, base: object, to: object): void {
  const next: unknown = Object.getPrototypeOf(from);
  if (next === null || typeof next !== 'object') {
    throw new Error('Express no longer builds its requests and responses on those of node:http.');
  }
  if (next !== base) copyChain(next, base, to);
  Object.defineProperties(to, Object.getOwnPropertyDescriptors(from));
}
