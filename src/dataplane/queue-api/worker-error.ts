import type { JobView } from '../../domain/jobs/job.ts';
import type { OpenAiError } from '../../http/openai-error.ts';

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

/** How workers that pass a server's answer on begin their error: `HTTP 404: …`, perhaps after the exception's name. */
const HTTP_STATUS = /^(?:[\w.]+:\s*)?(?:HTTP(?:\/[\d.]+)?|Error code:)[\s:]*([45]\d\d)\b[\s:.-]*/i;

/** What workers say of a route that they do not have; most call it a 400 or a 500. */
const NO_SUCH_ROUTE =
  /^(?:invalid|unsupported|unknown|unrecognized)\s+(?:openai[\s_-]?)?(?:api\s+)?(?:route|path|url)\b/i;

/**
 * Returns the error that an output or chunk of a worker is; null for an answer. An object is one if it has `error`, or is
 * marked by `"object": "error"`. Answers of the Responses API have an `error` too, beside their own `object`.
 */
export function readErrorOutput(output: unknown): OpenAiError | null {
  if (typeof output === 'string') return readErrorText(output);
  if (!isObject(output)) return null;
  if (output.object === 'error') return fromObject(output);
  if (output.error == null || output.error === false || output.object !== undefined || output.choices !== undefined) {
    return null;
  }
  const outer = statusIn(output);
  const inner = isObject(output.error) ? fromObject(output.error) : fromText(textOf(output.error));
  return outer === null ? inner : { ...inner, status: outer };
}

/** Returns the error of a job that has ended without a result. */
export function readJobError({ status, error }: Pick<JobView, 'status' | 'error'>): OpenAiError {
  if (status === 'CANCELLED') return { status: 500, message: 'the job was cancelled', code: 'job_cancelled' };
  if (status === 'TIMED_OUT') return { status: 504, message: error ?? 'no worker took the job in time' };
  if (error === null) return { status: 500, message: `the job ended as ${status}`, code: WORKER_ERROR };
  if (error === 'executionTimeout exceeded') return { status: 504, message: error };
  return fromText(error);
}

/** A text chunk is an error if its first event, or all of it, is an error object. */
function readErrorText(text: string): OpenAiError | null {
  if (!text.includes('"error"')) return null;
  const first = text.split('\n', 2).find((line) => line.startsWith('data:'));
  return readErrorOutput(parseObject(first?.slice('data:'.length) ?? text));
}

function fromText(text: string): OpenAiError {
  const parsed = parseObject(text);
  if (typeof parsed?.error_message === 'string') return fromText(parsed.error_message); // an exception, as SDKs report it
  const own = parsed && (readErrorOutput(parsed) ?? (typeof parsed.message === 'string' ? fromObject(parsed) : null));
  if (own) return own;
  const prefix = HTTP_STATUS.exec(text);
  if (!prefix && NO_SUCH_ROUTE.test(text)) return { status: 404, message: text };
  if (!prefix) return { status: 500, message: text, code: WORKER_ERROR };
  const status = Number(prefix[1]);
  const rest = text.slice(prefix[0].length);
  const inner = readErrorOutput(parseObject(rest));
  return inner ? { ...inner, status } : { status, message: text };
}

function fromObject(error: Record<string, unknown>): OpenAiError {
  const { type, code, param } = error;
  const message = textOf(error.message ?? error.detail ?? error);
  const knownType = typeof type === 'string' ? type : undefined;
  const stated = statusIn(error) ?? STATUS_OF_TYPE[knownType ?? ''] ?? null;
  if ((stated === null || stated === 400) && NO_SUCH_ROUTE.test(message)) return { status: 404, message };
  const { status, code: ownCode } = stated === null ? fromText(message) : { status: stated, code: undefined };
  const knownCode = typeof code === 'string' || typeof code === 'number' ? code : ownCode;
  return {
    ...{ status, message, param: typeof param === 'string' ? param : null },
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
  return typeof value === 'string' ? value : JSON.stringify(value);
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
