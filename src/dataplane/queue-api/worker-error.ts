import type { JobView } from '../../domain/jobs/job.ts';
import type { OpenAiError } from '../../http/openai-error.ts';
import { findLiteralObject } from './python-literal.ts';

/** The code of an error that neither has one nor names a status: it is not the server's own. */
const WORKER_ERROR = 'worker_error';

/** Statuses of the error types that workers send without one: vLLM's classes, OpenAI's and Anthropic's words. */
const STATUS_OF_TYPE: Record<string, number> = {
  BadRequestError: 400,
  invalid_request_error: 400,
  AuthenticationError: 401,
  authentication_error: 401,
  PermissionDeniedError: 403,
  permission_error: 403,
  NotFoundError: 404,
  not_found_error: 404,
  request_too_large: 413,
  UnprocessableEntityError: 422,
  RateLimitError: 429,
  rate_limit_error: 429,
  overloaded_error: 503,
  ServiceUnavailableError: 503,
};

/** FastAPI's own words, which servers behind a worker send without a status. */
const STATUS_OF_DETAIL: Record<string, number> = { 'Not Found': 404, 'Method Not Allowed': 405 };

/** How workers that pass on a server's answer name its status: `vLLM returned HTTP 404: …`, anywhere in the text. */
const HTTP_STATUS =
  /\b(?:HTTP(?:\/[\d.]{1,5})?(?:\s+(?:status|error|code)){0,2}|Error code|failed with status(?: code)?)[\s:=]{0,5}([45]\d\d)\b/i;

/** How workers say that they do not have a route; most call it a 400 or a 500. */
const NO_SUCH_ROUTE =
  /^(?:[\w.]{1,100}:\s*){0,2}(?:(?:invalid|unsupported|unknown|unrecognized|no such)\s+(?:openai[\s_-]?)?(?:api\s+)?(?:route|path|url)\b|(?:openai[\s_-]?)?(?:route|endpoint|path)\s+\S{1,200}\s+(?:(?:is|was)\s+)?not\s+(?:found|supported|implemented)\b|no route (?:for|matches)\b)/i;

/** The public SDK's wrapping of a generator's exception: `handler: <text> \ntraceback: <lines>`. */
const SDK_EXCEPTION = /^handler: (.*?) ?\ntraceback: /s;

/** Errors within errors beyond this depth are text. */
const MAX_DEPTH = 8;

/**
 * Returns the error that an output or chunk of a worker is; null for an answer. An object is one if it has `error`, or is
 * marked by `"object": "error"`. Answers of the Responses API have an `error` too, beside their own `object`.
 */
export function readErrorOutput(output: unknown): OpenAiError | null {
  return readOutput(output, 0);
}

function readOutput(output: unknown, depth: number): OpenAiError | null {
  if (typeof output === 'string') return readErrorText(output, depth);
  if (!isObject(output)) return null;
  if (output.object === 'error') return fromObject(output, depth);
  const { detail } = output;
  if (typeof detail === 'string' && Object.keys(output).length === 1) {
    const status = STATUS_OF_DETAIL[detail];
    if (status !== undefined) return { status, message: detail };
  }
  if (output.error == null || output.error === false || output.object !== undefined || output.choices !== undefined) {
    return null;
  }
  const outer = statusIn(output);
  const inner = isObject(output.error) ? fromObject(output.error, depth) : fromText(textOf(output.error), depth);
  return outer === null || (outer === 500 && inner.status !== 500) ? inner : { ...inner, status: outer };
}

/** Returns the error of a job that has ended without a result. */
export function readJobError({ status, error }: Pick<JobView, 'status' | 'error'>): OpenAiError {
  if (status === 'CANCELLED') return { status: 500, message: 'the job was cancelled', code: 'job_cancelled' };
  if (status === 'TIMED_OUT') return { status: 504, message: error ?? 'no worker took the job in time' };
  if (error === null) return { status: 500, message: `the job ended as ${status}`, code: WORKER_ERROR };
  if (error === 'executionTimeout exceeded') return { status: 504, message: error };
  return fromText(error, 0);
}

/** A text chunk is an error if its first event, or all of it, is an error object. */
function readErrorText(text: string, depth: number): OpenAiError | null {
  if (!text.includes('"error"') && !text.includes("'error'") && !text.includes('"detail"')) return null;
  const first = text.split('\n', 2).find((line) => line.startsWith('data:'));
  const source = first?.slice('data:'.length) ?? text;
  return readOutput(parseObject(source) ?? (/^\s*\{'/.test(source) ? findLiteralObject(source) : null), depth);
}

function fromText(given: string, depth: number): OpenAiError {
  const text = SDK_EXCEPTION.exec(given)?.[1] ?? given;
  const parsed = depth < MAX_DEPTH ? (parseObject(text) ?? findLiteralObject(text)) : undefined;
  if (typeof parsed?.error_message === 'string') return fromText(parsed.error_message, depth + 1); // an exception, as SDKs report it
  const own = parsed && readOwn(parsed, depth + 1);
  const named = HTTP_STATUS.exec(text);
  if (named && (!own || own.status === 500 || !text.startsWith('{'))) {
    const status = Number(named[1]);
    return own ? { ...own, status } : { status, message: text };
  }
  if (own) return own;
  if (NO_SUCH_ROUTE.test(text)) return { status: 404, message: text };
  return { status: 500, message: text, code: WORKER_ERROR };
}

function readOwn(parsed: Record<string, unknown>, depth: number): OpenAiError | null {
  return readOutput(parsed, depth) ?? (typeof parsed.message === 'string' ? fromObject(parsed, depth) : null);
}

/** A 500 is the least that a worker can say: a status that its message names says more. */
function fromObject(error: Record<string, unknown>, depth: number): OpenAiError {
  const { type, code, param } = error;
  const message = textOf(error.message ?? error.detail ?? error);
  const knownType = typeof type === 'string' ? type : undefined;
  const stated = statusIn(error) ?? STATUS_OF_TYPE[knownType ?? ''] ?? null;
  if ((stated === null || stated === 400) && NO_SUCH_ROUTE.test(message)) return { status: 404, message };
  const told = stated === null || stated === 500 ? fromText(message, depth + 1) : undefined;
  if (stated === 500 && told !== undefined && told.status !== 500) return told;
  const knownCode = typeof code === 'string' || typeof code === 'number' ? code : told?.code;
  return {
    ...{ status: stated ?? told!.status, message, param: typeof param === 'string' ? param : null },
    ...(knownType !== undefined ? { type: knownType } : {}),
    ...(knownCode !== undefined ? { code: knownCode } : {}),
  };
}

/** Returns the HTTP status that an error object states, as a number or its digits; null if it states none. */
function statusIn(error: Record<string, unknown>): number | null {
  for (const stated of [error.status, error.status_code, error.code]) {
    const status = Number(typeof stated === 'number' || typeof stated === 'string' ? stated : Number.NaN);
    if (Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  return null;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    return 'an error that is nested too deep to be shown'; // V8 parses what it cannot print
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  if (!text.trimStart().startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
