/**
 * Errors of the OpenAI routes, in the shape that their clients read (docs/interface/queue.md, "Errors of OpenAI routes").
 * Clients of `/v1/messages` read the same object inside `{"type": "error"}`, and know other types.
 */

import { withoutRevision } from '../core/rest-revisions.ts';
import { asciiJson } from '../core/text/ascii-json.ts';

/** The failure of a call. */
export interface OpenAiError {
  status: number;
  message: string;
  /** Absent: the usual one for the status. */
  type?: string;
  code?: string | number | null;
  param?: string | null;
}

const OPENAI_PATH = /^\/(?:v2\/[^/?]+\/)?openai(?=[/?]|$)([^?]*)/;

/** Type and code of each status in OpenAI's words, and its type in Anthropic's. */
const KINDS: Record<number, { type: string; code: string | null; anthropic: string }> = {
  400: { type: 'invalid_request_error', code: null, anthropic: 'invalid_request_error' },
  401: { type: 'invalid_request_error', code: 'invalid_api_key', anthropic: 'authentication_error' },
  403: { type: 'permission_error', code: 'permission_denied', anthropic: 'permission_error' },
  404: { type: 'invalid_request_error', code: 'not_found', anthropic: 'not_found_error' },
  405: { type: 'invalid_request_error', code: 'method_not_allowed', anthropic: 'invalid_request_error' },
  408: { type: 'timeout_error', code: 'request_timeout', anthropic: 'timeout_error' },
  413: { type: 'invalid_request_error', code: 'request_too_large', anthropic: 'request_too_large' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded', anthropic: 'rate_limit_error' },
  500: { type: 'server_error', code: 'internal_error', anthropic: 'api_error' },
  503: { type: 'server_error', code: 'service_unavailable', anthropic: 'overloaded_error' },
  504: { type: 'server_error', code: 'timeout', anthropic: 'timeout_error' },
};

/** Returns what follows `/openai` in the path of an OpenAI route; null for any other path. */
export function openAiRoute(url: string): string | null {
  return OPENAI_PATH.exec(withoutRevision(url))?.[1] ?? null;
}

/** Renders an error for the clients of a route. */
export function renderOpenAiError(route: string, error: OpenAiError): string {
  const { message, param = null } = error;
  const kind = KINDS[error.status] ?? KINDS[error.status < 500 ? 400 : 500]!;
  const code = error.code === undefined ? kind.code : error.code;
  if (!isMessagesRoute(route)) {
    return asciiJson({ error: { message, type: error.type ?? kind.type, code, param } });
  }
  const type = error.type?.endsWith('_error') ? error.type : kind.anthropic;
  return asciiJson({ type: 'error', error: { type, message, code, param } });
}

/** Renders an error as an event for a stream that has begun. */
export function renderOpenAiErrorEvent(route: string, error: OpenAiError): string {
  const body = renderOpenAiError(route, error);
  if (isMessagesRoute(route)) return `event: error\ndata: ${body}\n\n`;
  if (!isResponsesRoute(route)) return `data: ${body}\n\n`;
  const { error: own } = JSON.parse(body) as { error: object };
  return `event: error\ndata: ${JSON.stringify({ ...own, type: 'error', error: own })}\n\n`;
}

/** True if clients distinguish the events of a stream by name. */
export function hasNamedEvents(route: string): boolean {
  return isMessagesRoute(route) || isResponsesRoute(route);
}

function isMessagesRoute(route: string): boolean {
  return /^\/v1\/messages(?:\/|$)/.test(route);
}

function isResponsesRoute(route: string): boolean {
  return /^\/v1\/responses(?:\/|$)/.test(route);
}
