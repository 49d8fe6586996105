import { Failure } from '../core/errors.ts';
import { PORT_PATTERN } from '../domain/containers/check-ports.ts';
import { readList } from './inputs.ts';

export interface EnvironmentVariable {
  key: string;
  value: string;
}

const PORT = new RegExp(PORT_PATTERN);

/** Maps `[{key, value}]` to an env. Throws `badRequest` for an invalid or repeated name. */
export function toEnv(list: readonly (EnvironmentVariable | null)[] | null | undefined): Record<string, string> {
  const env = new Map<string, string>();
  for (const item of list ?? []) {
    if (item === null) continue;
    if (item.key === '' || item.key.includes('=')) {
      throw new Failure('badRequest', "env: a name must not be empty and must not contain '='");
    }
    if (env.has(item.key)) throw new Failure('badRequest', `env: '${item.key}' is listed more than once`);
    env.set(item.key, item.value);
  }
  return Object.fromEntries(env);
}

/** Maps an env to a list, in the order of `names`; others come last. */
export function toEnvironmentVariables(
  env: Readonly<Record<string, string>>,
  names: readonly string[] = [],
): EnvironmentVariable[] {
  const ordered = [...new Set([...names, ...Object.keys(env)])].filter((name) => Object.hasOwn(env, name));
  return ordered.map((key) => ({ key, value: env[key]! }));
}

/** Parses `8888/http,22/tcp`. Throws `badRequest` for anything else. */
export function toPorts(text: string | null | undefined): string[] {
  const ports = readList(text);
  const wrong = ports.find((port) => !PORT.test(port));
  if (wrong === undefined) return ports;
  throw new Failure(
    'badRequest',
    `ports: '${wrong.slice(0, 50)}' is not <port>/<protocol>, such as 8888/http or 22/tcp`,
  );
}

/** Maps `""`, which clients send for none, to null. */
export function toId(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
