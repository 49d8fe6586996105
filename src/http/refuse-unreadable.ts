import type { Duplex } from 'node:stream';
import { Failure } from '../core/errors.ts';
import { PipelineGate } from './pipeline-gate.ts';
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
