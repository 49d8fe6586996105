import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { Option } from 'commander';
import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import type { Field } from './field.ts';

type Env = Record<string, string>;

/** How variables are given, and in an update applied. */
export interface EnvOptions {
  env?: string[];
  envFile?: string[];
  unsetEnv?: string[];
  replaceEnv?: boolean;
}

/** The variables, as every resource with a container has them. */
export const ENV: Field<Env> = {
  options: (purpose) => [
    new Option('--env <name=value...>', 'environment variables; what they hold is visible in the list of processes'),
    new Option('--env-file <file...>', 'files of NAME=value lines (.env); --env wins over them'),
    ...(purpose === 'create'
      ? []
      : [
          new Option('--unset-env <name...>', 'variables to remove'),
          new Option('--replace-env', 'remove all variables that are not given; without it, others stay'),
        ]),
  ],
  read: readEnv,
};

/** Returns the variables given; undefined if none are. Throws a `UsageError` that names the file or the item. */
function readEnv({ env, envFile, replaceEnv }: EnvOptions): Env | undefined {
  if (env === undefined && envFile === undefined) return replaceEnv ? {} : undefined;
  return Object.fromEntries([...(envFile ?? []).flatMap(readEnvFile), ...(env ?? []).map(readVariable)]);
}

/** The query of an update: variables that are not given stay, unless they are replaced. */
interface EnvQuery {
  mergeEnv?: boolean;
  unsetEnv?: string;
}

/** Returns the query of an update. Throws a `UsageError` for options that exclude each other. */
export function envQuery({ env = [], unsetEnv, replaceEnv }: EnvOptions): EnvQuery {
  if (replaceEnv && unsetEnv) throw new UsageError('--replace-env and --unset-env exclude each other');
  if (replaceEnv) return {};
  const both = unsetEnv?.find((name) => env.some((item) => item.startsWith(`${name}=`)));
  if (both !== undefined) throw new UsageError(`--env and --unset-env both name ${both}`);
  const comma = unsetEnv?.find((name) => name.includes(',') || name.includes('='));
  if (comma !== undefined) throw new UsageError(`--unset-env has '${comma}', but takes names of variables`);
  return { mergeEnv: true, ...(unsetEnv && { unsetEnv: unsetEnv.join(',') }) };
}

/** Throws if a variable to remove is not there: a typo must not look like a success. */
export function requireVariables({ unsetEnv = [] }: EnvOptions, record: { name: string; env: Env }): void {
  const names = Object.keys(record.env);
  const missing = unsetEnv.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw new Error(`${record.name} has no variable '${missing}'${didYouMean(missing, names)}`);
}

/**
 * Sends an update. A server of version 0.1 does not know `mergeEnv` and replaces all variables: those that it removed are put
 * back, which is noted.
 */
export async function patchVariables<Body extends { env?: Env; templateId?: string }, Changed extends { env: Env }>(
  { before, body, options }: { before: { env: Env }; body: Body; options: EnvOptions },
  patch: (body: Body, query: EnvQuery) => Promise<Changed>,
  { note }: CliOutput,
): Promise<Changed> {
  const query = envQuery(options);
  const record = await patch(body, query);
  const [had, given, has] = [before.env, body.env ?? {}, record.env];
  const unset = options.unsetEnv ?? [];
  const kept = Object.keys(had).filter((name) => !unset.includes(name) && !Object.hasOwn(given, name));
  const isReplaced = body.env !== undefined && body.templateId === undefined && isDeepStrictEqual(has, given);
  const isUnset = !unset.some((name) => Object.hasOwn(has, name));
  if (!query.mergeEnv || ((kept.length === 0 || !isReplaced) && isUnset)) return record;
  note(
    'This server is too old to merge variables: they are read and written back, so do not change them elsewhere now.',
  );
  const env = Object.fromEntries([...kept.map((name) => [name, had[name]!]), ...Object.entries(given)]);
  return patch({ env } as Body, {});
}

function readVariable(item: string): [name: string, value: string] {
  const at = item.indexOf('=');
  if (at < 1) throw new UsageError(`--env has '${item}', but takes NAME=value`);
  return [item.slice(0, at), item.slice(at + 1)];
}

function readEnvFile(file: string): [name: string, value: string][] {
  try {
    return Object.entries(parseEnv(readFileSync(file, 'utf8'))) as [string, string][];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : (error as Error).message;
    throw new UsageError(`--env-file ${file}: ${why}`);
  }
}
