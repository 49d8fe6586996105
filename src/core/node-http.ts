/**
 * Node's `http`, for code of a server. An `import` of it evaluates all that it exports, also its WebSocket and with it the whole of
 * undici: 12 MB and 90 ms of CPU for nothing.
 */
import type http from 'node:http';

export const { Agent, createServer, maxHeaderSize, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http');

export type Agent = http.Agent;
export type ServerResponse = http.ServerResponse;
