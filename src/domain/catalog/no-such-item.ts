import { closest, didYouMean } from '../../core/text/closest.ts';
import { cpuFlavors, dataCenters, findGpuType, gpuPools, gpuTypes, gpuTypesOfPool } from './catalog.ts';

const NAMES = {
  'GPU pool': gpuPools,
  'GPU type': () => gpuTypes().map(({ id }) => id),
  'CPU flavor': () => cpuFlavors().map(({ id }) => id),
  'data center': () => dataCenters().map(({ id }) => id),
} as const satisfies Record<string, () => readonly string[]>;

/** Names of GPU types begin alike and are long: a third of one would be another model. */
export const TYPE_EDITS = 2;

/** Returns that the catalog has no such name, with the one that was probably meant. */
export function noSuchItem(thing: keyof typeof NAMES, name: string): string {
  const meant =
    confusedWith(thing, name) ?? didYouMean(name, NAMES[thing](), thing === 'GPU type' ? TYPE_EDITS : undefined);
  return `there is no ${thing} '${name}'${meant}`;
}

/** Pools and types are often mistaken for each other, and a type is often called by a part of its name. */
function confusedWith(thing: keyof typeof NAMES, name: string): string | undefined {
  if (thing === 'GPU pool') {
    const pool = findGpuType(name)?.pool;
    return pool ? `. It is a GPU type of the pool '${pool}'` : undefined;
  }
  if (thing !== 'GPU type') return undefined;
  const types = gpuTypesOfPool(name).map(({ id }) => `'${id}'`);
  if (types.length > 0) return `. It is a GPU pool, with the types ${types.join(', ')}`;
  const part = name.toLowerCase();
  if (part.length < 2 || closest(name, NAMES[thing](), TYPE_EDITS) !== undefined) return undefined;
  const found = NAMES[thing]().filter((id) => id.toLowerCase().includes(part));
  return found.length === 0 ? undefined : `. Did you mean ${found.map((id) => `'${id}'`).join(' or ')}?`;
}
