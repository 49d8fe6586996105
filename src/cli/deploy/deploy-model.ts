/** `podyard deploy hf:<owner>/<name>`: a model becomes an endpoint with an OpenAI-style URL. */
import { readRecipes } from '../../domain/models/read-recipes.ts';
import type { Recipe } from '../../domain/models/recipe.ts';
import {
  bodyOf,
  chooseRecipe,
  describePlan,
  gbText,
  nameAfter,
  type Placement,
  type PoolStock,
  planServing,
  stockOf,
} from '../../domain/models/serve-model.ts';
import { proveRollout } from '../endpoints/rollout.ts';
import { createWithModels, type ModelRequest, type ResolvedModel, resolveModels } from '../models/endpoint-models.ts';
import { type Endpoint, RECORDS } from '../records/kinds.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { noteCurlKey } from '../shared/note-curl-key.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { DeployOptions } from './deploy.ts';

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
  const own = options.recipes === undefined ? null : await readRecipes(options.recipes);
  const request: ModelRequest = { source, ...(tokenSecret !== undefined && { tokenSecret }) };
  const { models, recipes } = await resolveModels(client, [request]);
  const model = models[0]!;
  const recipe = recipeFor(own ?? recipes, model, options.recipe);
  const plan = planServing(recipe, model, await readStock(client), placementOf(options));
  const { chosen, needGb, placement } = plan;
  const name = options.name ?? nameAfter(model);
  await refuseTaken(client, name);
  const why = options.recipe === undefined ? `because the hub says ${model.task}` : 'as --recipe says';
  const lines = describePlan(plan, why).map(([label, value]) => `${label.padEnd(9)} ${value}`);
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
  if (json) return output.print(jsonText(endpoint));
  output.print(callOf(endpoint, recipe, model.name));
  noteCurlKey(output);
}

/** Throws a sentence with what to do instead. */
function recipeFor(recipes: readonly Recipe[], model: ResolvedModel, name: string | undefined): Recipe {
  const names = recipes.map((one) => `'${one.name}'`).join(', ');
  if (name !== undefined && !recipes.some((one) => one.name === name))
    throw new Error(`there is no recipe '${name}', but: ${names}`);
  const chosen = chooseRecipe(recipes, model, name);
  if ('recipe' in chosen) return chosen.recipe;
  const choice = chosen.isChoice ? `choose one with --recipe (${names}), or ` : '';
  throw new Error(
    `${chosen.problem}: ${choice}create an endpoint with an image of your own: podyard endpoints create <name> --image <image> --pool <pool> --model hf:${model.name}`,
  );
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
  return stockOf(capacity.gpus, types.gpus);
}

async function refuseTaken(client: ApiClient, name: string): Promise<void> {
  const taken = (await RECORDS.endpoints.list(client)).find((one) => one.name === name);
  if (!taken) return;
  throw new Error(
    `there is already an endpoint named '${name}' (${taken.id}): choose another name with --name, or change it with podyard endpoints update`,
  );
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
