/** How a model becomes an endpoint: data, which an operator's own file replaces. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import { RECIPE_SCHEMA, type Recipe } from './recipe.ts';
import builtIn from './recipes.json' with { type: 'json' };

/** Returns the recipes of a file; null: those that come with Podyard. Throws a `UsageError` with the first fault of the file. */
export async function readRecipes(file: string | null): Promise<Recipe[]> {
  if (file === null) return builtIn as Recipe[];
  const read = await readFile(file, 'utf8').catch((error) => {
    throw new UsageError(`--recipes ${file}: ${messageOf(error)}`);
  });
  let recipes: unknown;
  try {
    recipes = JSON.parse(read);
  } catch (error) {
    throw new UsageError(`--recipes ${file} is not JSON: ${messageOf(error)}`);
  }
  const { Ajv } = await import('ajv');
  const validate = new Ajv({ strict: false }).compile({ type: 'array', minItems: 1, items: RECIPE_SCHEMA });
  if (validate(recipes)) return recipes as Recipe[];
  const { instancePath, message, params } = validate.errors![0]!;
  const more = typeof params.additionalProperty === 'string' ? `: ${params.additionalProperty}` : '';
  throw new UsageError(`--recipes ${file}: ${instancePath.slice(1) || 'the file'} ${message}${more}`);
}
