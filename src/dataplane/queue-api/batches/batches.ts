import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Failure, notFound } from '../../../core/errors.ts';
import {
  BATCH_ID,
  type Batch,
  type BatchId,
  type BatchSettings,
  MAX_NAME_LENGTH,
  parseRequestId,
} from '../../../domain/batches/batch.ts';
import { deleteRequest, numberAt } from '../../../domain/batches/batch-requests.ts';
import { getBatch, listBatches } from '../../../domain/batches/batch-store.ts';
import {
  cancelBatch,
  createBatch,
  DEFAULT_SETTINGS,
  finalizeBatch,
  updateBatch,
} from '../../../domain/batches/change-batch.ts';
import { renderBatch } from '../../../domain/batches/render-batch.ts';
import { parseJson } from '../../../domain/jobs/job-body.ts';
import type { WebhookPolicy } from '../../../domain/jobs/webhook-policy.ts';
import type { CallRequest } from '../../../http/call-messages.ts';
import { sendJson, sendProblem } from '../../exchange.ts';
import { closedEarly, withBody } from '../../read-body.ts';
import type { QueueCall } from '../queue-call.ts';
import { bodySource } from '../submit.ts';
import { sendPage, sendResults } from './send-lines.ts';
import { type UploadResult, uploadRequests } from './upload-requests.ts';

const MAX_REQUESTS_A_PAGE = 1_000;
const MAX_BATCHES_A_PAGE = 100;
const DEFAULT_PAGE = 50;
const UNPACKED_BYTES = 64 * 1024;
const LINES_TYPE = /^application\/(x-ndjson|ndjson|jsonl|x-jsonlines|jsonlines)\b|^text\//i;

type Handle = (call: QueueCall, id: BatchId, requestId: string) => Promise<void>;

/** By what follows the batch's id, the methods. */
const ROUTES: Record<string, Record<string, Handle>> = {
  '': { GET: show, PUT: change },
  requests: { GET: listRequests, POST: addRequests },
  'requests/*': { DELETE: removeRequest },
  results: { GET: results },
  finalize: { POST: finalize },
  cancel: { POST: cancel },
};

/** `/v2/{endpointId}/batch…` (docs/interface/batches.md). */
export async function batches(call: QueueCall): Promise<void> {
  const [, id = '', name = '', requestId, ...rest] = call.subPath.split('/');
  const routes: Record<string, Handle> | undefined =
    call.subPath === '' ? { GET: list, POST: create } : ROUTES[requestId === undefined ? name : `${name}/*`];
  if (routes === undefined || rest.length > 0) throw new Failure('notFound', 'No such path on an endpoint.');
  if (call.subPath !== '' && !BATCH_ID.test(id)) throw notFound('batch');
  const handle = routes[call.req.method!];
  if (handle) return handle(call, id as BatchId, requestId ?? '');
  const allowed = Object.keys(routes);
  const failure = new Failure('methodNotAllowed', `${call.log.route} takes ${allowed.join(' or ')} here`);
  sendProblem(call.res, failure, ['allow', allowed.join(', ')]);
}

/** Creates a batch, with its first requests if the body has any. */
function create(call: QueueCall): Promise<void> {
  const { plane, endpoint, res } = call;
  return withBody(bodySource(call, plane.limits.runBodyBytes), async (body) => {
    const isLines = isLinesType(call);
    const { settings, hasRequests } = isLines
      ? { settings: {}, hasRequests: true }
      : readBatchBody(body, call.plane.webhooks);
    const owner = { endpointId: endpoint.id, userId: endpoint.userId };
    const id = await createBatch(plane.pool, owner, { ...DEFAULT_SETTINGS, ...settings });
    const uploaded = await uploadRequests(call, {
      ...{ id, isLines, received: 0, accepted: 0, offset: null },
      source: Readable.from(hasRequests ? [body] : []),
    });
    sendJson(res, 200, JSON.stringify({ id, status: 'DRAFT', ...uploaded }));
  });
}

async function list(call: QueueCall): Promise<void> {
  const { plane, endpoint, res, query } = call;
  const page = readPage(query, MAX_BATCHES_A_PAGE);
  const { batches: found, total } = await listBatches(plane.pool, endpoint.id, page);
  const hasMore = page.offset + found.length < total;
  sendJson(res, 200, JSON.stringify({ batches: found.map(renderBatch), total, ...page, hasMore }));
}

async function show(call: QueueCall, id: BatchId): Promise<void> {
  await sendBatch(call, id);
}

async function change(call: QueueCall, id: BatchId): Promise<void> {
  const { plane, endpoint } = call;
  await withBody(bodySource(call, plane.limits.runBodyBytes), async (body) => {
    const changes: Partial<BatchSettings> = readChanges(body, call.plane.webhooks);
    await updateBatch(plane.pool, endpoint.id, id, changes);
  });
  plane.bus.publish('batch', endpoint.id);
  await sendBatch(call, id);
}

async function finalize(call: QueueCall, id: BatchId): Promise<void> {
  const { plane, endpoint } = call;
  await finalizeBatch(plane.pool, endpoint.id, id);
  plane.bus.publish('batch', endpoint.id);
  await sendBatch(call, id);
}

async function cancel(call: QueueCall, id: BatchId): Promise<void> {
  const { plane, endpoint } = call;
  await cancelBatch(plane.pool, endpoint.id, id, plane.limits.batchRetentionMs);
  plane.bus.publish('batch', endpoint.id);
  plane.bus.publish('webhook', '');
  await sendBatch(call, id);
}

/** Streams requests into a DRAFT. */
async function addRequests(call: QueueCall, id: BatchId): Promise<void> {
  const batch = await getBatch(call.plane.pool, call.endpoint.id, id);
  const { received, accepted, status } = batch;
  if (status !== 'DRAFT') throw new Failure('badRequest', `the batch is ${status}; only a DRAFT takes requests`);
  const offset = readCount(call.query, 'offset', null, Number.MAX_SAFE_INTEGER);
  const source = bodyOf(call);
  const uploaded = await uploadRequests(call, {
    id,
    source,
    isLines: isLinesType(call),
    received,
    accepted,
    offset,
  }).catch((error: unknown) => {
    throw isBrokenGzip(error)
      ? new Failure('badRequest', 'the gzip data of the body is broken; what came before stays')
      : error;
  });
  sendJson(
    call.res,
    200,
    JSON.stringify({ id, status, ...uploaded } satisfies UploadResult & Pick<Batch, 'id' | 'status'>),
  );
}

async function removeRequest(call: QueueCall, id: BatchId, requestId: string): Promise<void> {
  const request = parseRequestId(requestId);
  if (request?.batchId !== id) throw notFound('request');
  await deleteRequest(call.plane.pool, call.endpoint.id, id, request.number);
  await sendBatch(call, id);
}

async function listRequests(call: QueueCall, id: BatchId): Promise<void> {
  const page = readPage(call.query, MAX_REQUESTS_A_PAGE);
  const batch = await getBatch(call.plane.pool, call.endpoint.id, id);
  const after = page.offset >= batch.accepted ? batch.received : await numberAt(call.plane.pool, batch, page.offset);
  await sendPage(call, batch, { ...page, after });
}

async function results(call: QueueCall, id: BatchId): Promise<void> {
  const batch = await getBatch(call.plane.pool, call.endpoint.id, id);
  if (batch.status === 'DRAFT') throw new Failure('badRequest', 'the batch is a DRAFT; finalize it to run it');
  await sendResults(call, batch);
}

async function sendBatch({ plane, endpoint, res }: QueueCall, id: BatchId): Promise<void> {
  sendJson(res, 200, JSON.stringify(renderBatch(await getBatch(plane.pool, endpoint.id, id))));
}

function isLinesType({ req }: QueueCall): boolean {
  return LINES_TYPE.test(req.headers['content-type'] ?? '');
}

/** The body as it arrives. It is unpacked as far as it is read, and one piece beyond. */
function bodyOf({ req }: QueueCall): AsyncIterable<Buffer> {
  const encoding = req.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return bodyStream(req);
  if (encoding !== 'gzip') {
    throw new Failure(
      'unsupportedMediaType',
      `content-encoding: '${encoding.slice(0, 40)}' is not supported; send gzip or none`,
    );
  }
  return pipeline(bodyStream(req), createGunzip({ chunkSize: UNPACKED_BYTES }), () => {});
}

function isBrokenGzip(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('Z_');
}

function readPage(query: URLSearchParams, maxLimit: number): { offset: number; limit: number } {
  const offset = readCount(query, 'offset', 0, Number.MAX_SAFE_INTEGER)!;
  const limit = readCount(query, 'limit', DEFAULT_PAGE, maxLimit)!;
  if (limit < 1) throw new Failure('badRequest', `limit: must be a number from 1 to ${maxLimit}`);
  return { offset, limit };
}

function readCount(query: URLSearchParams, name: string, fallback: number | null, max: number): number | null {
  const text = query.get(name);
  if (text === null) return fallback;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count < 0 || count > max) {
    throw new Failure('badRequest', `${name}: must be a whole number${max < 1e9 ? ` up to ${max}` : ''}`);
  }
  return count;
}

/** Reads the settings of a new batch, none if the body is empty or an array, and whether it has requests. */
function readBatchBody(
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
function readChanges(body: Buffer, webhooks: WebhookPolicy): Partial<BatchSettings> {
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

/** The body as a stream, which the connection is read for. What is left when it is destroyed is dropped once it arrives. */
function bodyStream(req: CallRequest): Readable {
  const stream = new Readable({
    read: () => void req.resume(),
    destroy(error, done) {
      req.pause();
      done(error);
    },
  });
  req.on('data', (chunk) => {
    if (!stream.destroyed && !stream.push(Buffer.from(chunk))) req.pause();
  });
  req.on('end', () => void stream.push(null));
  req.on('close', () => {
    if (!req.readableEnded) stream.destroy(closedEarly());
  });
  return stream;
}
