import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import type { Command } from 'commander';
import { didYouMean } from '../../core/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

/** How variables are given, and in an update applied. */
export interface EnvOptions {
  env?: string[];
  envFile?: string[];
  unsetEnv?: string[];
  replaceEnv?: boolean;
}

/** Adds the options of a create. */
export function addEnvOptions(command: Command): Command {
  return command
    .option('--env <name=value...>', 'environment variables; what they hold is visible in the list of processes')
    .option('--env-file <file...>', 'files of NAME=value lines (.env); --env wins over them');
}

/** Adds the options of an update. */
export function addEnvChangeOptions(command: Command): Command {
  return addEnvOptions(command)
    .option('--unset-env <name...>', 'variables to remove')
    .option('--replace-env', 'remove all variables that are not given; without it, others stay');
}

/** Returns the variables given; undefined if none are. Throws a `UsageError` that names the file or the item. */
export function readEnv({ env, envFile, replaceEnv }: EnvOptions): Record<string, string> | undefined {
  if (env === undefined && envFile === undefined) return replaceEnv ? {} : undefined;
  return Object.fromEntries([...(envFile ?? []).flatMap(readEnvFile), ...(env ?? []).map(readVariable)]);
}

/** Returns the query of an update, such as `?mergeEnv=true`: variables that are not given stay, unless they are replaced. */
export function envQuery({ env = [], unsetEnv, replaceEnv }: EnvOptions): string {
  if (replaceEnv && unsetEnv) throw new UsageError('--replace-env and --unset-env exclude each other');
  if (replaceEnv) return '';
  const both = unsetEnv?.find((name) => env.some((item) => item.startsWith(`${name}=`)));
  if (both !== undefined) throw new UsageError(`--env and --unset-env both name ${both}`);
  const comma = unsetEnv?.find((name) => name.includes(',') || name.includes('='));
  if (comma !== undefined) throw new UsageError(`--unset-env has '${comma}', but takes names of variables`);
  const query = new URLSearchParams({ mergeEnv: 'true', ...(unsetEnv && { unsetEnv: unsetEnv.join(',') }) });
  return `?${query}`;
}

/** Throws if a variable to remove is not there: a typo must not look like a success. */
export function requireVariables({ unsetEnv = [] }: EnvOptions, record: { name: string; env: object }): void {
  const names = Object.keys(record.env);
  const missing = unsetEnv.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw new Error(`${record.name} has no variable '${missing}'${didYouMean(missing, names)}`);
}

type Env = Record<string, string>;
type Fields = Record<string, unknown>;

/**
 * Sends an update. A server of version 0.1 does not know `mergeEnv` and replaces all variables: those that it removed are put
 * back, which is noted.
 */
export async function patchVariables(
  { before, body, options }: { before: Fields; body: Fields; options: EnvOptions },
  patch: (body: Fields, query: string) => Promise<Fields>,
  { note }: CliOutput,
): Promise<Fields> {
  const query = envQuery(options);
  const record = await patch(body, query);
  const [had, given, has] = [before.env as Env, (body.env ?? {}) as Env, record.env as Env];
  const unset = options.unsetEnv ?? [];
  const kept = Object.keys(had).filter((name) => !unset.includes(name) && !Object.hasOwn(given, name));
  const isReplaced = body.env !== undefined && body.templateId === undefined && isDeepStrictEqual(has, given);
  const isUnset = !unset.some((name) => Object.hasOwn(has, name));
  if (query === '' || ((kept.length === 0 || !isReplaced) && isUnset)) return record;
  note(
    'This server is too old to merge variables: they are read and written back, so do not change them elsewhere now.',
  );
  const env = Object.fromEntries([...kept.map((name) => [name, had[name]!]), ...Object.entries(given)]);
  return patch({ env }, '');
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
