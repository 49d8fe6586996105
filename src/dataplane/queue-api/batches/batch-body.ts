import { Failure } from '../../../core/errors.ts';
import { type BatchSettings, MAX_NAME_LENGTH } from '../../../domain/batches/batch.ts';
import { isHttpUrl, parseJson } from '../../../domain/jobs/job-body.ts';

/** Reads the settings of a new batch, none if the body is empty or an array, and whether it has requests. */
export function readBatchBody(body: Buffer): { settings: Partial<BatchSettings>; hasRequests: boolean } {
  if (body.length === 0) return { settings: {}, hasRequests: false };
  const { value } = parseJson(body);
  if (Array.isArray(value)) return { settings: {}, hasRequests: true };
  if (!isObject(value)) throw new Failure('badRequest', 'the request body must be an array of requests, or an object');
  if (value.requests !== undefined && !Array.isArray(value.requests)) throw invalid(['/requests: must be array']);
  return { settings: readSettings(value), hasRequests: value.requests !== undefined };
}

/** Reads a change of a batch. Members that are absent stay as they are. */
export function readChanges(body: Buffer): Partial<BatchSettings> {
  const { value } = parseJson(body);
  if (!isObject(value)) throw new Failure('badRequest', 'the request body must be a JSON object');
  return readSettings(value);
}

function readSettings({ name, webhook, ordered, paused }: Record<string, unknown>): Partial<BatchSettings> {
  const errors: string[] = [];
  const isName = typeof name === 'string' && name.length > 0 && name.length <= MAX_NAME_LENGTH && !name.includes('\0');
  if (name != null && !isName) errors.push(`/name: must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
  if (webhook != null && !isHttpUrl(webhook)) errors.push('/webhook: must be an http or https URL');
  if (ordered !== undefined && typeof ordered !== 'boolean') errors.push('/ordered: must be boolean');
  if (paused !== undefined && typeof paused !== 'boolean') errors.push('/paused: must be boolean');
  if (errors.length > 0) throw invalid(errors);
  return {
    ...(name === undefined ? {} : { name: name as string | null }),
    ...(webhook === undefined ? {} : { webhook: webhook as string | null }),
    ...(ordered === undefined ? {} : { isOrdered: ordered as boolean }),
    ...(paused === undefined ? {} : { isPaused: paused as boolean }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(errors: string[]): Failure {
  return new Failure('badRequest', `The batch is not valid: ${errors.join('; ')}.`, { errors });
}
