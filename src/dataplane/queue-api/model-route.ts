/**
 * `/openai/v1`: one base URL for all models of a user (docs/interface/queue.md, "One base URL for all models"). `model` in the body
 * says which endpoint is called; the rest is as at `/v2/{endpointId}/openai/v1`.
 */

import { Failure } from '../../core/errors.ts';
import type { Actor } from '../../domain/access/actor.ts';
import type { Scope } from '../../domain/access/scopes.ts';
import type { ModelEndpoint } from '../../domain/endpoints/served-models.ts';
import { parseInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { bodyOverLimit } from '../../domain/quotas/over-limit.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { type OpenAiError, renderOpenAiError } from '../../http/openai-error.ts';
import type { EndpointEntry } from '../endpoint-directory.ts';
import { sendBody, sendJson, sendProblem } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import type { RequestLog } from '../request-log.ts';
import { type OpenAiJob, relayOpenAiJob, submitOpenAiJob, tooLarge } from './openai.ts';
import type { QueueCall, QueuePlane } from './queue-call.ts';

/** One authenticated request, whose endpoint is not known yet. */
export interface ModelCall {
  req: CallRequest;
  res: CallResponse;
  plane: QueuePlane;
  log: RequestLog;
  actor: Actor;
  /** The path after `/openai`. */
  route: string;
  query: URLSearchParams;
}

const MODELS = '/v1/models';

export async function modelRoute(call: ModelCall): Promise<void> {
  const { req, res, route, log } = call;
  if (!route.startsWith('/v1/')) throw new Failure('notFound', 'No such path: the base URL ends in /openai/v1.');
  log.route = 'models';
  const isOfModels = route === MODELS || route.startsWith(`${MODELS}/`);
  const method = isOfModels ? 'GET' : 'POST';
  if (req.method !== method) {
    const failure = new Failure('methodNotAllowed', `/openai${route} takes ${method}`);
    return sendProblem(res, failure, ['allow', method]);
  }
  if (route === MODELS) return listModels(call);
  if (isOfModels) return getModel(call);
  log.route = 'openai';
  if (!call.actor.scopes.some(permitsSending)) throw new Failure('forbidden', 'access denied');
  const found = await submit(call);
  if ('status' in found) sendBody(res, found.status, 'application/json', renderOpenAiError(route, found));
  else await relayOpenAiJob(found.call, found.job);
}

/** A key without any such scope is refused with that reason. One that is restricted to an endpoint learns nothing of others. */
function permitsSending({ kind }: Scope): boolean {
  return kind === 'all' || kind === 'invoke';
}

/** Reads the body and commits its job to the endpoint that `model` means. */
function submit(call: ModelCall): Promise<{ call: QueueCall; job: OpenAiJob } | OpenAiError> {
  const { req, res, plane, actor } = call;
  const limitBytes = plane.limits.runsyncBodyBytes;
  const limits = { budget: plane.bodies, userId: actor.userId, limitBytes, cutBytes: 4 * limitBytes, tooLarge };
  return withBody({ req, res, ...limits }, async (bytes) => {
    const body = await parseInTurns(bytes, actor.userId, ['model', 'stream']);
    const { value } = body;
    const model = (value as { model?: unknown } | null)?.model;
    if (typeof model !== 'string' || model === '') return noModel();
    const found = choose(model, await plane.models.find(actor, model));
    if ('status' in found) return found;
    const endpoint = await plane.endpoints.findReachable(found.id, actor.userId);
    if (!endpoint) return unknownModel(model);
    const { requestBytes } = endpoint.user.limits;
    if (requestBytes !== null && bytes.length > requestBytes) throw bodyOverLimit(requestBytes);
    const queueCall = callOf(call, endpoint);
    const served = servedModel(found, model);
    const text = served === model ? body.text : body.replace('model', JSON.stringify(served));
    return { call: queueCall, job: await submitOpenAiJob(queueCall, { value, text }, bytes.length) };
  });
}

/** Returns the same call at the endpoint's own base URL. */
function callOf({ route, ...call }: ModelCall, endpoint: EndpointEntry): QueueCall {
  call.log.endpointId = endpoint.id;
  return { ...call, endpoint, jobId: undefined, subPath: route };
}

/** A worker knows its model by the name that it lists, not by the name of its endpoint. */
function servedModel({ models }: ModelEndpoint, model: string): string {
  return models.includes(model) ? model : (models[0] ?? model);
}

function choose(model: string, found: readonly ModelEndpoint[]): ModelEndpoint | OpenAiError {
  const [first] = found;
  if (!first) return unknownModel(model);
  if (found.length > 1) {
    const names = found.slice(0, 5).map(({ id, name }) => `${id} ('${name}')`);
    const more = found.length > 5 ? ` and ${found.length - 5} more` : '';
    const message = `model: '${model}' is served by several endpoints: use the id of one instead: ${names.join(', ')}${more}`;
    return { status: 400, message, code: 'model_ambiguous', param: 'model' };
  }
  if (first.type === 'QUEUE_BASED') return first;
  const message = `model: '${model}' is the load-balancing endpoint ${first.id}: its base URL is /v2/${first.id}/lb/v1`;
  return { status: 400, message, code: 'model_not_supported', param: 'model' };
}

function unknownModel(model: string): OpenAiError {
  const message =
    `model: '${model.slice(0, 200)}' is neither the name or id of an endpoint that this key may use, nor listed by one; ` +
    'GET /openai/v1/models lists them';
  return { status: 404, message, code: 'model_not_found', param: 'model' };
}

function noModel(): OpenAiError {
  const message = 'model: must be a string that names an endpoint, or a model that one lists';
  return { status: 400, message, code: 'missing_required_parameter', param: 'model' };
}

async function listModels({ plane, actor, res }: ModelCall): Promise<void> {
  const data = modelList(await plane.models.list(actor));
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  sendJson(res, 200, JSON.stringify({ object: 'list', data, has_more: false, ...ends }));
}

async function getModel({ plane, actor, res, route }: ModelCall): Promise<void> {
  const id = decodePath(route.slice(MODELS.length + 1));
  const model = modelList(await plane.models.list(actor)).find((known) => known.id === id);
  if (model) sendJson(res, 200, JSON.stringify(model));
  else sendBody(res, 404, 'application/json', renderOpenAiError(route, unknownModel(id)));
}

interface Model {
  id: string;
  object: 'model';
  type: 'model';
  created: number;
  created_at: string;
  display_name: string;
  owned_by: string;
}

/**
 * Everything that `model` may be, in the members that OpenAI's clients read and in those that Anthropic's do: each endpoint by its
 * name, or by its id where another has the same name, and what each serves.
 */
function modelList(endpoints: readonly ModelEndpoint[]): Model[] {
  const names = Map.groupBy(endpoints, ({ name }) => name);
  const models = new Map<string, Model>();
  const add = (id: string, { name, createdAt }: ModelEndpoint) => {
    if (models.has(id)) return;
    const created = { created: Math.floor(createdAt.getTime() / 1000), created_at: createdAt.toISOString() };
    models.set(id, { id, object: 'model', type: 'model', ...created, display_name: id, owned_by: name });
  };
  for (const endpoint of endpoints) add(names.get(endpoint.name)!.length > 1 ? endpoint.id : endpoint.name, endpoint);
  for (const endpoint of endpoints) for (const id of endpoint.models) add(id, endpoint);
  return [...models.values()];
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
