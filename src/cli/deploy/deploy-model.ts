/** `podyard deploy hf:<owner>/<name>`: a model becomes an endpoint with an OpenAI-style URL. */

import { bytesText } from '../../core/text/bytes-text.ts';
import { proveRollout } from '../endpoints/rollout.ts';
import {
  createWithModels,
  type ModelRequest,
  type ResolvedModel,
  resolveModels,
  shortCommit,
} from '../models/endpoint-models.ts';
import { type Endpoint, RECORDS } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { DeployOptions } from './deploy.ts';
import { bodyOf, chooseRecipe, filesFor, memoryOf, type Placement, type PoolStock, placeModel } from './plan-model.ts';
import { type Recipe, readRecipes } from './recipes.ts';

/** Options of `podyard deploy` that are for a model alone. */
export interface DeployModelOptions {
  recipe?: string;
  recipes?: string;
  tokenSecret?: string;
  pool?: string[];
  gpuCount?: number;
}

/** Says what it chose and why, and unless it is a dry run, creates the endpoint. Throws where the GPUs here do not hold the model. */
export async function deployModel(
  client: ApiClient,
  source: string,
  options: DeployOptions & DeployModelOptions,
  output: CommandOutput,
): Promise<void> {
  const { tokenSecret, dryRun, json, wait, trial } = options;
  const recipes = await readRecipes(options.recipes);
  const request: ModelRequest = { source, ...(tokenSecret !== undefined && { tokenSecret }) };
  const [model] = (await resolveModels(client, [request])) as [ResolvedModel];
  const recipe = chooseRecipe(recipes, model, options.recipe);
  const chosen = filesFor(recipe, model);
  const needGb = memoryOf(recipe, chosen.bytes);
  const stock = await readStock(client);
  const placement = placementOf(options) ?? placeModel(recipe, needGb, stock);
  const name = options.name ?? model.name.split('/')[1]!.toLowerCase();
  await refuseTaken(client, name);
  const lines = linesOf({ recipe, model, chosen, needGb, stock, placement }, options);
  output.note([`Create the endpoint ${name}`, ...lines.map((line) => `  ${line}`)].join('\n'));
  if (placement === null) {
    throw new Error(
      `no GPUs here have ${gbText(needGb)} of memory for a worker of ${model.name}: choose a smaller or quantized model, or name GPUs with --pool`,
    );
  }
  const body = bodyOf(recipe, { name, model: model.name, placement });
  if (dryRun) return json ? output.print(jsonText({ recipe: recipe.name, model, body })) : undefined;
  const endpoint = await createWithModels(client, body, [{ ...request, exclude: chosen.exclude }]);
  if (wait) await proveRollout(client, endpoint, output, { trial });
  output.print(json ? jsonText(endpoint) : callOf(endpoint, recipe, model.name));
}

function placementOf({ pool, gpuCount = 1 }: DeployModelOptions): Placement | null {
  return pool === undefined ? null : { pools: pool, count: gpuCount };
}

/** Returns the GPUs that are here, by pool, the smallest first. */
async function readStock(client: ApiClient): Promise<PoolStock[]> {
  const [capacity, types] = await Promise.all([
    client.call('get', '/v2/catalog/capacity'),
    client.call('get', '/v2/catalog/gpus', { query: {} }),
  ]);
  const memory = new Map(types.gpus.map((type) => [type.id, type.memory]));
  const pools = new Map<string, PoolStock>();
  for (const { id, pool, total, free } of capacity.gpus) {
    const memoryGb = memory.get(id) ?? 0;
    const known = pools.get(pool) ?? { pool, memoryGb, total: 0, free: 0 };
    pools.set(pool, {
      ...{ pool, memoryGb: Math.min(known.memoryGb, memoryGb) },
      ...{ total: known.total + total, free: known.free + free },
    });
  }
  return [...pools.values()].toSorted((a, b) => a.memoryGb - b.memoryGb);
}

async function refuseTaken(client: ApiClient, name: string): Promise<void> {
  const taken = (await RECORDS.endpoints.list(client)).find((one) => one.name === name);
  if (!taken) return;
  throw new Error(
    `there is an endpoint ${name} already (${taken.id}): choose another name with --name, or change it with podyard endpoints update`,
  );
}

interface Chosen {
  recipe: Recipe;
  model: ResolvedModel;
  chosen: ReturnType<typeof filesFor>;
  needGb: number;
  stock: readonly PoolStock[];
  placement: Placement | null;
}

function linesOf({ recipe, model, chosen, needGb, stock, placement }: Chosen, options: DeployModelOptions): string[] {
  const why = options.recipe === undefined ? `because the hub says ${model.task}` : 'as --recipe says';
  const left = model.files - chosen.files;
  const { factor, gb } = recipe.memory;
  const rows: [label: string, value: string][] = [
    ['recipe', `${recipe.name}, ${why}`],
    ['image', recipe.image],
    ['model', `${model.name}@${shortCommit(model.commit)}${model.revision ? `, revision ${model.revision}` : ''}`],
    [
      'download',
      `${bytesText(chosen.bytes)} in ${filesText(chosen.files)}, once for each machine${left > 0 ? `; ${filesText(left)} that the image does not read: left out` : ''}`,
    ],
    ['memory', `${gbText(needGb)} of GPU memory for a worker: ${bytesText(chosen.bytes)} × ${factor} + ${gb} GB`],
    ['GPUs', placement === null ? `none here do: ${stockText(stock)}` : placementText(placement, stock)],
    ['sleeps', `after ${recipe.idleTimeout} seconds without a request; FlashBoot is ${recipe.flashboot}`],
  ];
  return rows.map(([label, value]) => `${label.padEnd(9)} ${value}`);
}

function placementText({ pools, count }: Placement, stock: readonly PoolStock[]): string {
  const shown = pools.map((pool) => {
    const here = stock.find((one) => one.pool === pool);
    return here ? poolText(here) : `${pool}: none here now`;
  });
  return `${count} for a worker, of ${shown.join('; ')}`;
}

function stockText(stock: readonly PoolStock[]): string {
  return stock.map(poolText).join('; ') || 'there is no GPU';
}

function poolText({ pool, memoryGb, total, free }: PoolStock): string {
  return `${pool} with ${memoryGb} GB, ${free} of ${total} free`;
}

function filesText(count: number): string {
  return `${count} ${count === 1 ? 'file' : 'files'}`;
}

function gbText(gb: number): string {
  return `${gb.toFixed(1)} GB`;
}

/** Returns the OpenAI-style URL and a call to copy. */
function callOf({ id, requestUrls }: Endpoint, { call }: Recipe, model: string): string {
  const base = `${'base' in requestUrls ? requestUrls.base : ''}/v1`;
  const sent =
    call.file === undefined
      ? `-H 'Content-Type: application/json' -d '${JSON.stringify({ model, ...call.body })}'`
      : `-F file=@${call.file} -F model=${model}`;
  return `${base}  (${id})\n\n  curl ${base}/${call.path} -H "Authorization: Bearer $PODYARD_API_KEY" \\\n    ${sent}`;
}
