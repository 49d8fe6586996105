/** Chooses what serves a model and where: pure, from the recipes, what the hub says of the model, and the GPUs that are here. */
import { chooseFiles, matches } from '../../domain/models/choose-files.ts';
import type { ResolvedModel } from '../models/endpoint-models.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { Recipe } from './recipes.ts';

/** GPUs of a pool that are here. `memoryGb`: of the smallest of them. */
export interface PoolStock {
  pool: string;
  memoryGb: number;
  total: number;
  free: number;
}

export interface Placement {
  pools: string[];
  /** GPUs of a worker. */
  count: number;
}

const GB = 1e9;
const COUNTS = [1, 2, 4, 8];

/** Returns the recipe for a model. `name`: of the one that the user wants. Throws a sentence with what to do instead. */
export function chooseRecipe(recipes: readonly Recipe[], model: ResolvedModel, name: string | undefined): Recipe {
  const names = recipes.map((one) => `'${one.name}'`).join(', ');
  const instead = `create an endpoint with an image of your own: podyard endpoints create <name> --image <image> --pool <pool> --model hf:${model.name}`;
  const isMeant = (one: Recipe) => (name === undefined ? one.tasks.includes(model.task ?? '') : one.name === name);
  const meant = recipes.filter(isMeant);
  if (meant.length === 0 && name !== undefined) throw new Error(`there is no recipe '${name}', but: ${names}`);
  if (meant.length === 0) {
    const task = model.task === null ? 'does not say what it is for' : `is for ${model.task}`;
    throw new Error(`${model.name} ${task}, which has no recipe: choose one with --recipe (${names}), or ${instead}`);
  }
  const fit = meant.find(({ needs }) => model.content.some(({ path }) => needs.some((one) => matches(path, one))));
  if (fit) return fit;
  const needs = [...new Set(meant.flatMap((one) => one.needs))].join(' or ');
  throw new Error(`${model.name} has no file ${needs}, which the recipe '${meant[0]!.name}' needs: ${instead}`);
}

/** Returns the bytes and the number of the model's files that a recipe's image reads, and the patterns that leave out the others. */
export function filesFor(
  { exclude }: Recipe,
  { content }: ResolvedModel,
): { bytes: number; files: number; exclude: string[] } {
  const chosen = chooseFiles(content, { exclude });
  const used = exclude.filter((pattern) => content.some(({ path }) => matches(path, pattern)));
  return { bytes: chosen.reduce((sum, { bytes }) => sum + bytes, 0), files: chosen.length, exclude: used };
}

/** GPU memory of a worker, in GB. */
export function memoryOf({ memory: { factor, gb } }: Recipe, bytes: number): number {
  return (bytes / GB) * factor + gb;
}

/**
 * Returns the pools that are here whose GPUs hold the model, the smallest first, with as few GPUs for a worker as possible; null:
 * none does.
 */
export function placeModel({ args }: Recipe, needGb: number, stock: readonly PoolStock[]): Placement | null {
  const counts = args.includes('{gpus}') ? COUNTS : COUNTS.slice(0, 1);
  for (const count of counts) {
    const fitting = stock.filter(({ memoryGb, total }) => total >= count && memoryGb * count >= needGb);
    const pools = fitting.toSorted((a, b) => a.memoryGb - b.memoryGb).map(({ pool }) => pool);
    if (pools.length > 0) return { pools, count };
  }
  return null;
}

/** Returns the body of the endpoint's creation. */
export function bodyOf(
  recipe: Recipe,
  { name, model, placement }: { name: string; model: string; placement: Placement },
): Schemas['CreateEndpointRequest'] {
  const fill = (value: string) => value.replaceAll('{model}', model).replaceAll('{gpus}', String(placement.count));
  const env = { PORT: String(recipe.port), HF_HUB_OFFLINE: '1', ...recipe.env };
  return {
    name,
    type: 'LOAD_BALANCING',
    image: recipe.image,
    args: fill(recipe.args),
    ports: [`${recipe.port}/http`],
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)])),
    gpu: { pools: placement.pools, count: placement.count },
    workers: { min: 0, max: 1 },
    scaling: { type: 'REQUEST_COUNT', idleTimeout: recipe.idleTimeout },
    flashboot: recipe.flashboot,
  };
}
