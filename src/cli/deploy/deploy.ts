import { basename, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { bytesText } from '../../core/text/bytes-text.ts';
import { counted } from '../../core/text/counted.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { isBuildImage } from '../../domain/builds/build-image.ts';
import { proveRollout } from '../endpoints/rollout.ts';
import { updateEndpoint } from '../endpoints/write-endpoint.ts';
import { createWithModels, readModels, resolveModels, writeModels } from '../models/endpoint-models.ts';
import { resolveNames } from '../records/find-record.ts';
import { type Endpoint, RECORDS } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { noteCurlKey } from '../shared/note-curl-key.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type Plan, planChange, planCreate, toBody } from './plan-deploy.ts';
import { type ModelPlan, planModels, type WantedModels } from './plan-models.ts';
import { type NamedEndpoint, readFolder, type Source } from './read-folder.ts';
import { type ProjectEndpoint, readProject } from './read-project.ts';
import { runBuild } from './run-build.ts';
import { uploadFiles } from './upload-files.ts';

export interface DeployOptions {
  name?: string;
  dryRun?: boolean;
  yes?: boolean;
  wait: boolean;
  trial: boolean;
  cache: boolean;
  json?: boolean;
}

interface Item {
  wanted: ProjectEndpoint;
  name: string;
  before: Endpoint | undefined;
  /** Null: podyard.yaml names an image. */
  source: Source | null;
  /** The image that is there already. */
  built: string | null;
  plan: ModelPlan;
}

/**
 * Makes the endpoints of a folder what the folder says: builds images, creates endpoints, or changes what differs. Shows the plan
 * first, and asks where something would be replaced or stopped. Writes nothing into the folder.
 */
export async function deploy(
  client: ApiClient,
  folder: string,
  options: DeployOptions,
  output: CommandOutput,
): Promise<void> {
  const root = resolve(folder);
  const endpoints = named(await readProject(root), root, options.name);
  const { entries, sources } = await readFolder(root, endpoints, options, output);
  const items = await plan(client, endpoints, sources);
  showPlan(items, options, output);
  if (options.dryRun || !(await isConfirmed(items, options, output))) return;
  for (const item of items) await carryOut(client, { root, entries }, item, options, output);
}

/** Gives every endpoint its name: its own, `--name`, or the folder's. */
function named(endpoints: ProjectEndpoint[], root: string, given: string | undefined): NamedEndpoint[] {
  if (given !== undefined && endpoints.length > 1)
    throw new UsageError('--name is for one endpoint: podyard.yaml has several');
  return endpoints.map((one) => ({ ...one, name: given ?? one.name ?? basename(root) }));
}

async function plan(
  client: ApiClient,
  endpoints: readonly NamedEndpoint[],
  sources: readonly (Source | null)[],
): Promise<Item[]> {
  const [known, built] = await Promise.all([
    RECORDS.endpoints.list(client),
    Promise.all(sources.map((one) => findBuilt(client, one))),
  ]);
  return Promise.all(
    endpoints.map(async (wanted, i) => {
      const found = known.filter(({ name }) => name === wanted.name);
      if (found.length > 1) {
        throw new Error(
          `${found.length} endpoints are named '${wanted.name}' (${found.map(({ id }) => id).join(', ')}): rename or delete all but one`,
        );
      }
      const [source, before] = [sources[i]!, found[0]];
      const image = built[i] === before?.image && before && (await isLost(client, before)) ? null : built[i]!;
      return {
        wanted,
        name: wanted.name,
        before,
        source,
        built: image,
        plan: await planOne(client, wanted, before, { source, image }),
      };
    }),
  );
}

/** True when a worker did not find the built image any more, as after a prune of the engine: it is built again. */
async function isLost(client: ApiClient, { id, image }: Endpoint): Promise<boolean> {
  if (!isBuildImage(image)) return false;
  const { images } = await client.call('get', '/v2/serverless/{id}/release-images', { path: { id } });
  return images[0]?.image === image && images[0].problem !== null;
}

/** Returns the image of a finished build of the same content; null if there is none, or if every step is to run again. */
export async function findBuilt(client: ApiClient, source: Source | null): Promise<string | null> {
  if (source === null || !source.body.usesCache) return null;
  const query = { name: source.body.name, contentHash: source.contentHash };
  const { builds } = await client.call('get', '/v2/builds', { query });
  return builds.find(({ status, image }) => status === 'COMPLETED' && image !== null)?.image ?? null;
}

async function planOne(
  client: ApiClient,
  wanted: NamedEndpoint,
  before: Endpoint | undefined,
  { source, image }: { source: Source | null; image: string | null },
): Promise<ModelPlan> {
  const { registry, volumes } = wanted;
  const names = { ...(registry !== undefined && { registry }), ...(volumes && { networkVolumes: volumes }) };
  const resolved = await resolveNames(client, names);
  const body = toBody(
    { ...wanted, ...(resolved.registry !== undefined && { registry: resolved.registry }) },
    wanted.name,
    resolved.networkVolumes,
  );
  const planned = { image: source === null ? wanted.image! : image, how: source === null ? '' : howText(source) };
  const models = await resolveWanted(client, wanted);
  if (before === undefined) return planModels(planCreate(body, wanted.schedule, planned), models, []);
  const now = wanted.schedule ? await readSchedule(client, before.id) : null;
  const plan = planChange(before, body, { wanted: wanted.schedule, now }, planned);
  return planModels(plan, models, models === null ? [] : await readModels(client, before.id));
}

async function resolveWanted(client: ApiClient, { models }: NamedEndpoint): Promise<WantedModels | null> {
  if (models === undefined) return null;
  const requests = models.map((model) => (typeof model === 'string' ? { source: model } : model));
  return { requests, resolved: requests.length === 0 ? [] : (await resolveModels(client, requests)).models };
}

async function readSchedule(client: ApiClient, id: string): Promise<Schemas['ReplaceScheduleRequest']> {
  const { timeZone, floors } = await client.call('get', '/v2/serverless/{id}/schedule', { path: { id } });
  return { timeZone, floors };
}

function howText({ recipe, body }: Source): string {
  const bytes = body.files.reduce((sum, file) => sum + (file.size ?? 0), 0);
  const files = `${counted(body.files.length, 'file')}, ${bytesText(bytes)}`;
  if (recipe.dockerfile !== null) return `to build with ${recipe.dockerfile} (${files})`;
  const { entry, installer, lockFiles } = recipe;
  const serves = entry?.kind === 'handler' ? `${entry.name} of ${entry.file}` : `\`${entry?.command.join(' ')}\``;
  const installs = installer === null ? 'no dependencies' : `${lockFiles[0]} with ${installer}`;
  return `to build: ${serves}, ${installs} (${files})`;
}

function showPlan(items: readonly Item[], { dryRun, json }: DeployOptions, { print, note }: CommandOutput): void {
  if (json && dryRun) {
    const plans = items.map(({ name, before, plan: { action, lines, risks } }) => ({
      name,
      id: before?.id ?? null,
      action,
      lines,
      risks,
    }));
    print(jsonText(plans));
    return;
  }
  for (const {
    name,
    before,
    plan: { action, lines },
  } of items) {
    const heading = {
      create: `Create the endpoint ${name}`,
      change: `Change the endpoint ${name} (${before?.id})`,
      nothing: `Nothing changed: ${name} (${before?.id}) is as the folder says.`,
    };
    note([heading[action], ...lines.map((line) => `  ${line}`)].join('\n'));
  }
}

/** Throws a `UsageError` where nobody can be asked. */
async function isConfirmed(
  items: readonly Item[],
  { yes }: DeployOptions,
  { terminal, note }: CommandOutput,
): Promise<boolean> {
  const risks = items.flatMap(({ name, plan }) => plan.risks.map((risk) => `${name}: ${risk}`));
  if (risks.length === 0 || yes) return true;
  if (!terminal.isInteractive)
    throw new UsageError(`this ${risks.join('; ')}, and there is no terminal to ask on: add --yes`);
  for (const risk of risks) note(`! ${risk}`);
  const answer = await terminal.ask('Go on? [y/N] ');
  if (/^y(?:es)?$/i.test(answer.trim())) return true;
  note('Nothing was changed.');
  return false;
}

async function carryOut(
  client: ApiClient,
  { root, entries }: { root: string; entries: readonly FolderEntry[] },
  planned: Item,
  options: DeployOptions,
  output: CommandOutput,
): Promise<void> {
  const { wait, trial, json } = options;
  let item = planned;
  let image = item.built ?? item.plan.body.image;
  if (item.plan.action !== 'nothing' && item.built === null && item.source !== null) {
    const body = { ...item.source.body, ...(item.before && { endpointId: item.before.id }) };
    image = await build(client, root, entries, { body }, output);
    item = await planAgain(client, item, options, output);
    if (item !== planned && !(await isConfirmed([item], options, output))) return;
  }
  const { plan, before } = item;
  if (plan.action === 'nothing') {
    if (json) output.print(jsonText({ ...before, changed: false }));
    return;
  }
  const body = { ...plan.body, ...(image !== undefined && image !== before?.image && { image }) };
  const { models } = plan;
  if (before !== undefined && models !== null) await writeModels(client, before.id, models);
  const endpoint =
    before === undefined ? await createWithModels(client, body, models ?? []) : await update(client, before, body);
  if (plan.schedule) {
    await client.call('put', '/v2/serverless/{id}/schedule', { path: { id: endpoint.id }, body: plan.schedule });
  }
  if (wait) await proveRollout(client, endpoint, output, { trial });
  if (json) return output.print(jsonText({ ...endpoint, changed: true }));
  output.print(callText(endpoint));
  noteCurlKey(output);
}

/** Returns a new plan, and shows it, where somebody has changed the endpoint since the first one: the folder may mean another difference now. */
async function planAgain(client: ApiClient, item: Item, options: DeployOptions, output: CommandOutput): Promise<Item> {
  const { name, before } = item;
  const [again] = await plan(client, [{ ...item.wanted, name }], [item.source]);
  const [now, then] = [again!.before, before];
  if (isDeepStrictEqual(now, then)) return item;
  const what = now === undefined ? 'deleted' : then === undefined ? 'created' : 'changed';
  output.note(`${name} was ${what} while the image was built. The plan is now:`);
  showPlan([again!], options, output);
  return again!;
}

async function update(client: ApiClient, before: Endpoint, { type: _, ...body }: Plan['body']): Promise<Endpoint> {
  return Object.keys(body).length === 0 ? before : updateEndpoint(client, before, body, {});
}

/** Sends what is missing and builds. A file that expired meanwhile is sent once more. Resolves with the image. */
export async function build(
  client: ApiClient,
  root: string,
  entries: readonly FolderEntry[],
  source: Pick<Source, 'body'>,
  output: CommandOutput,
): Promise<string> {
  const body = await resolveNames(client, source.body);
  const { files, bytes } = await uploadFiles(client, root, entries, output);
  if (files > 0) output.note(`Uploaded ${counted(files, 'file')}, ${bytesText(bytes)}.`);
  output.note(`Building ${body.name}`);
  try {
    return await runBuild(client, body, output);
  } catch (error) {
    if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
    await uploadFiles(client, root, entries, output);
    return runBuild(client, body, output);
  }
}

/** Returns an endpoint's URL and a call to copy. */
function callText({ id, requestUrls }: Pick<Endpoint, 'id' | 'requestUrls'>): string {
  const key = '-H "Authorization: Bearer $PODYARD_API_KEY"';
  if ('base' in requestUrls) return `${requestUrls.base}  (${id})\n\n  curl ${requestUrls.base} ${key}`;
  const input = `-H 'Content-Type: application/json' -d '{"input": {}}'`;
  return `${requestUrls.runSync}  (${id})\n\n  curl ${requestUrls.runSync} ${key} \\\n    ${input}`;
}
