import { createHash } from 'node:crypto';
import type { FolderEntry } from './build.ts';
import type { Recipe } from './recipe.ts';

/** The user's part of what an image depends on. */
export interface BuildContent {
  entries: readonly FolderEntry[];
  recipe: Recipe;
  args: Readonly<Record<string, string>>;
  secrets: Readonly<Record<string, string>>;
}

/**
 * Returns the SHA-256 of what is built, in hexadecimal: the same for the same files, links, modes, recipe, arguments and names of
 * secrets, in whichever order they come. `podyard deploy` finds the build of an unchanged folder by it.
 */
export function contentHashOf({ entries, recipe, args, secrets }: BuildContent): string {
  const files = entries.map((entry) =>
    'link' in entry ? [entry.path, 'link', entry.link] : [entry.path, entry.digest, (entry.mode & 0o111) !== 0],
  );
  files.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const parts = [files, sorted(recipe), sorted(args), sorted(secrets)];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** As pairs, by name. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([name, member]) => [name, sorted(member)]);
  return pairs.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}
