/** Plans the transfer of a user's records to another user. Pure. */
import { LIMITS, type LimitName, type Limits } from '../quotas/limits.ts';
import type { Usage } from '../quotas/user-limits.ts';

/** A record that gets another name, because the new owner has one of that name. */
export interface Renaming {
  kind: 'template' | 'secret';
  id: string;
  from: string;
  to: string;
}

/** The parts of a user's use that count for the new owner's limits. */
const COUNTED = [
  'endpoints',
  'pods',
  'workers',
  'gpus',
  'queuedJobs',
  'queuedBytes',
] as const satisfies readonly (LimitName & keyof Usage)[];

/** Returns a sentence for each limit of the new owner that both users' use together would exceed. */
export function findExceeded(newOwner: { limits: Limits; usage: Usage }, added: Usage): string[] {
  return COUNTED.flatMap((name) => {
    const limit = newOwner.limits[name];
    const sum = newOwner.usage[name] + added[name];
    if (limit === null || added[name] === 0 || sum <= limit) return [];
    const { unit } = LIMITS[name];
    return `the limit '${name}' allows ${limit} ${unit}; ${newOwner.usage[name]} are in use, and this needs ${added[name]} more`;
  });
}

interface Named {
  id: string;
  name: string;
}

/**
 * Returns new names for those records whose name the new owner has taken: the name with the former user's, and a number if that is
 * taken as well. `join` makes a name of the two and a suffix.
 */
export function renameTaken(
  kind: Renaming['kind'],
  records: readonly Named[],
  taken: readonly string[],
  join: (name: string, suffix: string) => string,
): Renaming[] {
  const used = new Set([...taken, ...records.map(({ name }) => name)]);
  const takenByNewOwner = new Set(taken);
  return records.flatMap(({ id, name }) => {
    if (!takenByNewOwner.has(name)) return [];
    let to = join(name, '');
    for (let number = 2; used.has(to); number++) to = join(name, String(number));
    used.add(to);
    return { kind, id, from: name, to };
  });
}

/** Joins a template's name and the name of the user it came from. */
export const templateNameFrom =
  (user: string) =>
  (name: string, suffix: string): string =>
    `${name} (${user}${suffix === '' ? '' : ` ${suffix}`})`;

/** The same for a secret, in the letters that a secret's name may have, and as long as one may be. */
export const secretNameFrom =
  (user: string, maxLength: number) =>
  (name: string, suffix: string): string => {
    const end = `_${user.replace(/[^\w.-]/g, '_').slice(0, 40)}${suffix === '' ? '' : `_${suffix}`}`;
    return name.slice(0, maxLength - end.length) + end;
  };
