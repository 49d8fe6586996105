import { ServerResponse } from 'node:http';

/**
 * Responses for a server that will be replaced: while `isDraining`, each one ends its connection, and says so, also if its request
 * came before. Clients then open another connection, elsewhere.
 */
export function drainableResponse(isDraining: () => boolean): typeof ServerResponse {
  class DrainableResponse extends ServerResponse {}
  // node sets it in the constructor and by the request, and reads it when it sends the headers.
  const isPersistent = Symbol('isPersistent');
  Object.defineProperty(DrainableResponse.prototype, 'shouldKeepAlive', {
    get(this: { [isPersistent]: boolean }) {
      return this[isPersistent] && !isDraining();
    },
    set(this: { [isPersistent]: boolean }, value: boolean) {
      this[isPersistent] = value;
    },
  });
  return DrainableResponse as unknown as typeof ServerResponse;
}
