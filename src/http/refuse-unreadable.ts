import type { Duplex } from 'node:stream';
import { Failure } from '../core/errors.ts';
import { ServerResponse } from '../core/node-http.ts';
import { PipelineGate } from './floods/pipeline-gate.ts';
import { rawProblem } from './problem.ts';

/** Sends a problem record for what node's parser rejects, which never becomes a request. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  PipelineGate.of(socket)?.refused();
  socket.end(rawProblem(unreadable(error.code)), () => socket.destroy());
}

function unreadable(code: string | undefined): Failure {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new Failure('headersTooLarge', 'The request headers are larger than 16 KiB.');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Failure('requestTimeout', 'The request headers did not come in time.');
  }
  return new Failure('badRequest', 'The request is not valid HTTP.');
}

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
