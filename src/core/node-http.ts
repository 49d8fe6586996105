/**
 * Node's `http`, for code of a server. An `import` of it evaluates all that it exports, also its WebSocket and with it the whole of
 * undici: 12 MB and 90 ms of CPU for nothing.
 */
import type http from 'node:http';

export const { Agent, createServer, maxHeaderSize, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http');

/**
 * Has an unrequested 101 fail the request. Node ends such a request without an error, so the caller would wait for ever for a response, and
 * no signal ends that.
 */
export function refuseUpgrade(request: http.ClientRequest): http.ClientRequest {
  return request.once('upgrade', (_answer, socket) => {
    socket.destroy();
    request.emit('error', new Error('it changed the protocol without being asked'));
  });
}

export type Agent = http.Agent;
export type ServerResponse = http.ServerResponse;
