/**
 * Chooses what serves a model and where: pure, from the recipes, what the hub says of the model, and the GPUs that are here. Clients
 * decide this, the command line and the console: the server only gives them its recipes.
 */
import { bytesText } from '../../core/text/bytes-text.ts';
import { chooseFiles, matches } from './choose-files.ts';
import type { Recipe } from './recipe.ts';

/** A model as `POST /v2/models/resolve` answers. */
export interface FoundModel {
  name: string;
  revision: string | null;
  commit: string;
  task: string | null;
  files: number;
  content: readonly { path: string; bytes: number }[];
}

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

/** Why no recipe serves a model, without what to do instead. */
export interface NoRecipe {
  problem: string;
  /** Naming a recipe helps. */
  isChoice: boolean;
}

/** Returns the recipe for a model. `name`: of the one that the user wants, one of `recipes`. */
export function chooseRecipe(
  recipes: readonly Recipe[],
  model: FoundModel,
  name: string | undefined,
): { recipe: Recipe } | NoRecipe {
  const isMeant = (one: Recipe) => (name === undefined ? one.tasks.includes(model.task ?? '') : one.name === name);
  const meant = recipes.filter(isMeant);
  if (meant.length === 0) {
    const task = model.task === null ? 'does not say what it is for' : `is for ${model.task}`;
    return { problem: `${model.name} ${task}, which has no recipe`, isChoice: true };
  }
  const recipe = meant.find(({ needs }) => model.content.some(({ path }) => needs.some((one) => matches(path, one))));
  if (recipe) return { recipe };
  const needs = [...new Set(meant.flatMap((one) => one.needs))].join(' or ');
  const problem = `${model.name} has no file ${needs}, which the recipe '${meant[0]!.name}' needs`;
  return { problem, isChoice: false };
}

/** Returns the bytes and the number of the model's files that a recipe's image reads, and the patterns that leave out the others. */
export function filesFor(
  { exclude }: Recipe,
  { content }: FoundModel,
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
) {
  const fill = (value: string) => value.replaceAll('{model}', model).replaceAll('{gpus}', String(placement.count));
  const env = { PORT: String(recipe.port), HF_HUB_OFFLINE: '1', ...recipe.env };
  return {
    name,
    type: 'LOAD_BALANCING' as const,
    image: recipe.image,
    args: fill(recipe.args),
    ports: [`${recipe.port}/http`],
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)])),
    gpu: { pools: placement.pools, count: placement.count },
    workers: { min: 0, max: 1 },
    scaling: { type: 'REQUEST_COUNT' as const, idleTimeout: recipe.idleTimeout },
    flashboot: recipe.flashboot,
  };
}

/** Returns GPUs by pool, the smallest first, from what is here and the catalog's types. */
export function stockOf(
  here: readonly { id: string; pool: string; total: number; free: number }[],
  types: readonly { id: string; memory: number }[],
): PoolStock[] {
  const memory = new Map(types.map((type) => [type.id, type.memory]));
  const pools = new Map<string, PoolStock>();
  for (const { id, pool, total, free } of here) {
    const memoryGb = memory.get(id) ?? 0;
    const known = pools.get(pool) ?? { pool, memoryGb, total: 0, free: 0 };
    pools.set(pool, {
      ...{ pool, memoryGb: Math.min(known.memoryGb, memoryGb) },
      ...{ total: known.total + total, free: known.free + free },
    });
  }
  return [...pools.values()].toSorted((a, b) => a.memoryGb - b.memoryGb);
}

/** Returns how a recipe serves a model. `placement`: what the user names instead of what is here. */
export function planServing(
  recipe: Recipe,
  model: FoundModel,
  stock: readonly PoolStock[],
  placement: Placement | null = null,
): ServingPlan {
  const chosen = filesFor(recipe, model);
  const needGb = memoryOf(recipe, chosen.bytes);
  return { recipe, model, chosen, needGb, stock, placement: placement ?? placeModel(recipe, needGb, stock) };
}

/** Returns the name that an endpoint gets after its model. */
export function nameAfter(model: Pick<FoundModel, 'name'>): string {
  return model.name.split('/').at(-1)!.toLowerCase();
}

/** How a model would be served. */
export interface ServingPlan {
  recipe: Recipe;
  model: FoundModel;
  chosen: ReturnType<typeof filesFor>;
  needGb: number;
  stock: readonly PoolStock[];
  placement: Placement | null;
}

/** Says what was chosen and why: labels with a value each. `why`: this recipe. */
export function describePlan(
  { recipe, model, chosen, needGb, stock, placement }: ServingPlan,
  why: string,
): [label: string, value: string][] {
  const left = model.files - chosen.files;
  const { factor, gb } = recipe.memory;
  return [
    ['recipe', `${recipe.name}, ${why}`],
    ['image', recipe.image],
    [
      'model',
      `${model.name}@${model.commit.replace(/^sha256:/, '').slice(0, 7)}${model.revision ? `, revision ${model.revision}` : ''}`,
    ],
    [
      'download',
      `${bytesText(chosen.bytes)} in ${filesText(chosen.files)}, once for each machine${left > 0 ? `; ${filesText(left)} that the image does not read: left out` : ''}`,
    ],
    ['memory', `${gbText(needGb)} of GPU memory for a worker: ${bytesText(chosen.bytes)} × ${factor} + ${gb} GB`],
    ['GPUs', placement === null ? `none here do: ${stockText(stock)}` : placementText(placement, stock)],
    ['sleeps', `after ${recipe.idleTimeout} seconds without a request; FlashBoot is ${recipe.flashboot}`],
  ];
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

export function gbText(gb: number): string {
  return `${gb.toFixed(1)} GB`;
}
