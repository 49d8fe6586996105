import { isUtf8 } from 'node:buffer';
import { Failure } from '../../core/errors.ts';
import { findShapeFault } from '../../core/text/json-scan.ts';
import type { WebhookPolicy } from './webhook-policy.ts';

/** A job as a client submits it (docs/interface/queue.md, "Submitting"). `input` and `extras` are slices of the body's JSON text. */
export interface JobBody {
  input: Source;
  /** `"s3Config":…`, appended to what the worker gets, and never shown to clients. */
  extras: string | null;
  webhook: string | null;
  executionTimeoutMs: number | null;
  ttlMs: number;
  hasOwnTtl: boolean;
  isLowPriority: boolean;
}

const DAY_MS = 86_400_000;
const DEFAULT_TTL_MS = DAY_MS;
/** The times of a policy, and the least that each may be. */
const MIN_MS = [
  ['executionTimeout', 5_000],
  ['ttl', 10_000],
] as const;

/** Changes of a resubmission; an absent member stays as it was. `webhook` null: none. */
export type JobChanges = Partial<Omit<JobBody, 'extras' | 'hasOwnTtl'>>;

/** A JSON text, or its bytes: valid UTF-8. */
export type Source = string | Buffer;

/** A JSON text that was parsed. */
export interface ParsedJson {
  text: string;
  /** A large text is not parsed whole (parse-in-turns.ts). */
  value: unknown;
  /** Returns the source text of members of the outermost object, as `sliceMembers` does. */
  slice(names: readonly string[]): Map<string, Source>;
  /** Returns the text with another value for a member that the outermost object has. */
  replace(name: string, json: string): string;
}

/** The members of a job body that are read. */
export const JOB_MEMBERS = ['input', 's3Config', 'webhook', 'policy'];

/**
 * Reads a job body; drops unknown members. `query`: of the URL, whose `executionTimeout` and `ttl` count where the body has
 * none. Throws `badRequest` with every error and its place.
 */
export function parseJobBody(parsed: ParsedJson, webhooks: WebhookPolicy, query?: URLSearchParams): JobBody {
  const { body, policy } = parseMembers(parsed, { webhooks, isInputRequired: true, query });
  const members = parsed.slice(['input', 's3Config']);
  return {
    input: members.get('input')!,
    extras: body.s3Config == null ? null : `"s3Config":${members.get('s3Config')}`,
    webhook: (body.webhook as string | null | undefined) ?? null,
    executionTimeoutMs: (policy.executionTimeout as number | undefined) ?? null,
    ttlMs: (policy.ttl as number | undefined) ?? DEFAULT_TTL_MS,
    hasOwnTtl: policy.ttl !== undefined,
    isLowPriority: policy.lowPriority === true,
  };
}

/** Reads the body of a resubmission; undefined: it is empty. Throws `badRequest` with every error and its place. */
export function parseJobChanges(parsed: ParsedJson | undefined, webhooks: WebhookPolicy): JobChanges {
  if (parsed === undefined) return {};
  const { body, policy } = parseMembers(parsed, { webhooks, isInputRequired: false });
  const input = parsed.slice(['input']).get('input');
  return {
    ...(input === undefined ? {} : { input }),
    ...(body.webhook === undefined ? {} : { webhook: body.webhook as string | null }),
    ...(policy.executionTimeout === undefined ? {} : { executionTimeoutMs: policy.executionTimeout as number }),
    ...(policy.ttl === undefined ? {} : { ttlMs: policy.ttl as number }),
    ...(policy.lowPriority === undefined ? {} : { isLowPriority: policy.lowPriority as boolean }),
  };
}

function parseMembers(
  { value: body }: ParsedJson,
  {
    webhooks,
    isInputRequired,
    query,
  }: { webhooks: WebhookPolicy; isInputRequired: boolean; query?: URLSearchParams | undefined },
) {
  if (!isObject(body)) {
    throw invalid(`the request body must be a JSON object${isInputRequired ? ' with the member input' : ''}`);
  }
  const errors: string[] = [];
  const given = isObject(body.policy) ? body.policy : {};
  const policy = query?.size ? { ...readTimes(query), ...given } : given;
  if (isInputRequired && !Object.hasOwn(body, 'input')) errors.push('/input: is required');
  if (body.policy !== undefined && !isObject(body.policy)) errors.push('/policy: must be object');
  const webhookFault = body.webhook == null ? null : webhooks.findFault(body.webhook);
  if (webhookFault !== null) errors.push(`/webhook: ${webhookFault}`);
  if (body.s3Config != null && !isObject(body.s3Config)) errors.push('/s3Config: must be object');
  if (policy.lowPriority !== undefined && typeof policy.lowPriority !== 'boolean') {
    errors.push('/policy/lowPriority: must be boolean');
  }
  for (const [name, minMs] of MIN_MS) {
    checkMs(errors, Object.hasOwn(given, name) ? `/policy/${name}` : `?${name}`, policy[name], minMs);
  }
  if (errors.length > 0) throw new Failure('badRequest', `The job is not valid: ${errors.join('; ')}.`, { errors });
  return { body, policy };
}

/** Returns what the URL says of a job's policy: clients put both times there. */
function readTimes(query: URLSearchParams): Record<string, unknown> {
  const times: Record<string, unknown> = {};
  for (const [name] of MIN_MS) {
    const text = query.get(name) ?? '';
    if (text !== '') times[name] = Number(text);
  }
  return times;
}

/** Parses a body. Throws `badRequest` if it is not UTF-8, not JSON, or would take long to parse. */
export function parseJson(bytes: Buffer): ParsedJson {
  checkUtf8(bytes);
  const fault = findShapeFault(bytes);
  if (fault !== null) throw tooMuch(fault);
  const text = bytes.toString();
  try {
    return parsedJson(text, JSON.parse(text));
  } catch (error) {
    throw notJson((error as Error).message);
  }
}

function parsedJson(text: string, value: unknown): ParsedJson {
  return {
    text,
    value,
    slice: (names) => sliceMembers(text, names),
    replace: (name, json) => replaceMember(text, name, json),
  };
}

/** Throws `badRequest`. */
export function checkUtf8(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw invalid('the request body is not valid UTF-8');
}

export function tooMuch(fault: string): Failure {
  return invalid(`the request body cannot be taken: ${fault}`);
}

export function notJson(fault: string): Failure {
  return invalid(`the request body is not valid JSON: ${fault}`);
}

function invalid(detail: string): Failure {
  return new Failure('badRequest', detail);
}

function checkMs(errors: string[], place: string, value: unknown, minMs: number): void {
  if (value === undefined) return;
  if (!Number.isInteger(value) || (value as number) < minMs || (value as number) > 7 * DAY_MS) {
    errors.push(`${place}: must be a whole number of milliseconds from ${minMs} to ${7 * DAY_MS}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const COMMA = 44;

/**
 * Returns the source text of top-level members of an object, so that large numbers and the order of keys reach the worker as
 * they were written. `text` must be valid JSON. Of a repeated key the last one counts, as in JSON.parse.
 */
export function sliceMembers(text: string, names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  visitMembers(text, (key, start, end) => {
    if (names.includes(key)) found.set(key, text.slice(start, end).trimEnd());
  });
  return found;
}

/** Returns the text of an object with another value for a top-level member that it has; the rest stays as it was written. */
function replaceMember(text: string, name: string, json: string): string {
  let replaced = '';
  let copiedTo = 0;
  visitMembers(text, (key, start, end) => {
    if (key !== name) return;
    replaced += text.slice(copiedTo, start) + json;
    copiedTo = end;
  });
  return replaced + text.slice(copiedTo);
}

/** Calls `visit` with each top-level member of an object and the place of its value, with the blanks after it. */
function visitMembers(text: string, visit: (key: string, start: number, end: number) => void): void {
  let at = skipBlanks(text, 0) + 1;
  for (;;) {
    at = skipBlanks(text, at);
    if (text.charCodeAt(at) === CLOSE_BRACE) return;
    const keyEnd = endOfString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1); // past the colon
    const end = endOfValue(text, start);
    visit(key, start, end);
    at = skipBlanks(text, end);
    if (text.charCodeAt(at) === COMMA) at += 1;
  }
}

function skipBlanks(text: string, at: number): number {
  while (text.charCodeAt(at) <= 32) at += 1;
  return at;
}

function endOfString(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/** Returns the position after the value at `start`: after its closing bracket or quote, or at what follows a literal. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (code === COMMA && depth === 0) {
      return at;
    }
  }
}
