import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Actor } from '../access/actor.ts';
import { change } from '../change.ts';
import { checkAddedReferences } from '../containers/check-references.ts';
import type { Context } from '../context.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { updateEndpoint } from '../endpoints/update-endpoint.ts';
import { listSealedValues } from '../secrets/secret-store.ts';
import { chooseFiles } from './choose-files.ts';
import type { ModelOrigins } from './model-origins.ts';
import { type ModelReference, parseModelReference } from './model-reference.ts';
import { pinnedSourceOf, referenceOf } from './model-text.ts';
import type { ModelUse, PinnedFile } from './pinned-model.ts';
import { pinModel } from './pinned-model-store.ts';

export const MAX_MODELS = 20;

/** A model as a client asks for it. */
export interface ModelRequest {
  /** The reference, as `parseModelReference` reads it. */
  source: string;
  include?: readonly string[];
  exclude?: readonly string[];
  /** The name of the owner's secret with the origin's token. */
  tokenSecret?: string | null;
}

/** A model that was asked for, resolved. */
export interface ResolvedModel extends ModelUse {
  /** Its task, in the hub's words; null: its origin does not say. */
  task: string | null;
  files: readonly PinnedFile[];
}

export interface ModelDeps extends Context {
  models: ModelOrigins;
  secretBox: SecretBox;
}

/**
 * Asks the origins what each model stands for now, and stores the answers: nothing of the user's changes. The caller has checked that the
 * key may write endpoints. Throws `forbidden` for a key that may not use a secret that is named, `badRequest` with the place of
 * the model for one that cannot be had, and `unavailable` for an origin that is away.
 */
export async function resolveModels(
  deps: ModelDeps,
  actor: Actor,
  requests: readonly ModelRequest[],
  placeOf: (i: number) => string = (i) => `models[${i}]`,
): Promise<ResolvedModel[]> {
  if (requests.length > MAX_MODELS) throw tooMany();
  const wanted = requests.map((request, i) => ({
    ...{ ...request, tokenSecret: request.tokenSecret ?? null, place: placeOf(i) },
    reference: placed(placeOf(i), () => parseModelReference(request.source)),
  }));
  checkAddedReferences(actor, null, { models: wanted });
  const tokens = await openTokens(deps, actor, wanted);
  const models = await Promise.all(
    wanted.map(async ({ reference, place, tokenSecret, include, exclude }) => {
      const read = deps.models.read(reference, tokenSecret === null ? null : tokens.get(tokenSecret)!);
      const { task, ...found } = await read.catch((error) => placed(place, () => raise(error)));
      const patterns = { ...(include?.length && { include }), ...(exclude?.length && { exclude }) };
      const files = chooseFiles(found.files, patterns);
      if (files.length === 0) {
        const why = found.files.length === 0 ? 'has no files' : 'has no file that these patterns choose';
        throw new Failure('badRequest', `${place}: ${found.name} ${why}`);
      }
      const { id, source, name, commit } = await pinModel(deps.pool, { ...found, files });
      const revision = revisionOf(reference);
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      return { id, source, name, commit, ...patterns, revision, bytes, tokenSecret, task, files };
    }),
  );
  checkCommits(models, placeOf);
  return models;
}

/**
 * Sets the models of an endpoint, which makes a release unless they are the same. One that it has, named by its commit or digest, is not asked for
 * again. Throws `notFound`, and as `resolveModels`.
 */
export async function setModels(
  deps: ModelDeps,
  actor: Actor,
  id: EndpointId,
  requests: readonly ModelRequest[],
): Promise<Endpoint> {
  const before = await getEndpointRow(deps.pool, actor.userId, id); // before anything is asked for it
  return change(deps, actor, updateEndpoint, { id, update: await readModels(deps, actor, requests, before.models) });
}

/**
 * Returns the members of an endpoint that models give it. What `before` has already is not asked for again. Throws as `resolveModels`.
 */
export async function readModels(
  deps: ModelDeps,
  actor: Actor,
  requests: readonly ModelRequest[],
  before: readonly ModelUse[] = [],
): Promise<{ models: ModelUse[]; modelReferences: string[] }> {
  const kept = requests.map((request, i) => placed(`models[${i}]`, () => findKept(before, request)));
  const places = requests.flatMap((_, i) => (kept[i] ? [] : i));
  const asked = places.map((i) => requests[i]!);
  const found = await resolveModels(deps, actor, asked, (i) => `models[${places[i]}]`);
  const models = requests.map((_, i) => kept[i] ?? toUse(found[places.indexOf(i)]!));
  if (models.length > MAX_MODELS) throw tooMany();
  checkCommits(models, (i) => `models[${i}]`);
  return { models, modelReferences: models.map(referenceOf) };
}

/**
 * Adds to the settings of an endpoint what its `modelReferences` stand for. References that the endpoint has already keep their
 * commits. Throws as `resolveModels`.
 */
export async function withModels<T extends { modelReferences?: string[] }>(
  deps: ModelDeps,
  actor: Actor,
  before: Endpoint | null,
  settings: T,
): Promise<T & { models?: readonly ModelUse[] }> {
  const { modelReferences } = settings;
  if (modelReferences === undefined) return settings;
  const isResolved = before?.models.length === modelReferences.length; // not those of a version that only kept them
  if (isResolved && isDeepStrictEqual(modelReferences, before.modelReferences)) return settings;
  const requests = modelReferences.map((source) => ({ source }));
  const models = await resolveModels(deps, actor, requests, () => 'modelReferences');
  return { ...settings, models: models.map(toUse) };
}

/** Returns the same model of the endpoint, if the request says which content it means. */
function findKept(before: readonly ModelUse[], request: ModelRequest): ModelUse | undefined {
  const reference = parseModelReference(request.source);
  const { include, exclude, tokenSecret } = request;
  const kept = before.find(
    (use) =>
      isDeepStrictEqual(reference, parseModelReference(pinnedSourceOf(use))) &&
      isDeepStrictEqual(
        [use.include ?? [], use.exclude ?? [], use.tokenSecret],
        [include ?? [], exclude ?? [], tokenSecret ?? null],
      ),
  );
  return kept && { ...kept, revision: revisionOf(reference) };
}

function revisionOf(reference: ModelReference): string | null {
  if (reference.source === 'HUB') return reference.revision;
  return reference.source === 'OCI' ? reference.tag : null;
}

function toUse({ task: _, files: __, ...use }: ResolvedModel): ModelUse {
  return use;
}

/** Returns the values of the secrets that are named. */
async function openTokens(
  { pool, secretBox }: ModelDeps,
  { userId }: Actor,
  wanted: readonly { place: string; tokenSecret: string | null }[],
): Promise<Map<string, string>> {
  const names = [...new Set(wanted.flatMap(({ tokenSecret }) => tokenSecret ?? []))];
  if (names.length === 0) return new Map();
  const rows = await listSealedValues(pool, userId, names);
  const tokens = new Map(rows.map(({ id, name, value }) => [name, secretBox.open(value, id).trim()]));
  const lacking = wanted.find(({ tokenSecret }) => tokenSecret !== null && !tokens.has(tokenSecret));
  if (lacking) throw new Failure('badRequest', `${lacking.place}: there is no secret '${lacking.tokenSecret}'`);
  return tokens;
}

function tooMany(): Failure {
  return new Failure('badRequest', `models: must not be more than ${MAX_MODELS}`);
}

/** A model's folder names one commit as its `main`, so two commits of one model exclude each other. */
function checkCommits(models: readonly ModelUse[], placeOf: (i: number) => string): void {
  models.forEach(({ source, name, commit }, i) => {
    const first = models.findIndex((other) => other.source === source && other.name === name);
    if (models[first]!.commit === commit) return;
    throw new Failure(
      'badRequest',
      `${placeOf(i)}: ${name} is there already with another commit: an endpoint has one commit of each model`,
    );
  });
}

/** Runs something, and puts the place of a model before what it refuses. */
function placed<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { kind, cause, retryAfterSeconds } = error;
    throw new Failure(kind, `${place}: ${error.message}`, { cause, ...(retryAfterSeconds && { retryAfterSeconds }) });
  }
}

function raise(error: unknown): never {
  throw error;
}
