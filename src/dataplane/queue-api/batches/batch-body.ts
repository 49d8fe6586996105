import { Failure } from '../../../core/errors.ts';
import { type BatchSettings, MAX_NAME_LENGTH } from '../../../domain/batches/batch.ts';
import { parseJson } from '../../../domain/jobs/job-body.ts';
import type { WebhookPolicy } from '../../../domain/jobs/webhook-policy.ts';

/** Reads the settings of a new batch, none if the body is empty or an array, and whether it has requests. */
export function readBatchBody(
  body: Buffer,
  webhooks: WebhookPolicy,
): { settings: Partial<BatchSettings>; hasRequests: boolean } {
  if (body.length === 0) return { settings: {}, hasRequests: false };
  const { value } = parseJson(body);
  if (Array.isArray(value)) return { settings: {}, hasRequests: true };
  if (!isObject(value)) throw new Failure('badRequest', 'the request body must be an array of requests, or an object');
  if (value.requests !== undefined && !Array.isArray(value.requests)) throw invalid(['/requests: must be array']);
  return { settings: readSettings(value, webhooks), hasRequests: value.requests !== undefined };
}

/** Reads a change of a batch. Members that are absent stay as they are. */
export function readChanges(body: Buffer, webhooks: WebhookPolicy): Partial<BatchSettings> {
  const { value } = parseJson(body);
  if (!isObject(value)) throw new Failure('badRequest', 'the request body must be a JSON object');
  return readSettings(value, webhooks);
}

function readSettings(value: Record<string, unknown>, webhooks: WebhookPolicy): Partial<BatchSettings> {
  const { name, webhook, ordered, paused } = value;
  const errors: string[] = [];
  const isName = typeof name === 'string' && name.length > 0 && name.length <= MAX_NAME_LENGTH && !name.includes('\0');
  if (name != null && !isName) errors.push(`/name: must be a string of 1 to ${MAX_NAME_LENGTH} characters`);
  const webhookFault = webhook == null ? null : webhooks.findFault(webhook);
  if (webhookFault !== null) errors.push(`/webhook: ${webhookFault}`);
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
