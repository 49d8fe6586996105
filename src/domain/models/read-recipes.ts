/** How a model becomes an endpoint: data, which an operator's own file replaces. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import builtIn from './recipes.json' with { type: 'json' };
import type { Recipe } from './serve-model.ts';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const amount = { type: 'number', minimum: 0 };
const closed = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
});
const SCHEMA = {
  type: 'array',
  minItems: 1,
  items: closed({
    name: text,
    tasks: texts,
    needs: { ...texts, minItems: 1 },
    exclude: texts,
    image: text,
    args: { type: 'string' },
    port: { type: 'integer', minimum: 1, maximum: 65_535 },
    env: { type: 'object', additionalProperties: { type: 'string' } },
    memory: closed({ factor: amount, gb: amount }),
    flashboot: { enum: ['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'] },
    idleTimeout: { type: 'integer', minimum: 0 },
    call: closed({ path: text, body: { type: 'object' }, file: text }, ['path']),
  }),
};

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
  const validate = new Ajv({ strict: false }).compile(SCHEMA);
  if (validate(recipes)) return recipes as Recipe[];
  const { instancePath, message, params } = validate.errors![0]!;
  const more = typeof params.additionalProperty === 'string' ? `: ${params.additionalProperty}` : '';
  throw new UsageError(`--recipes ${file}: ${instancePath.slice(1) || 'the file'} ${message}${more}`);
}
