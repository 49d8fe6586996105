import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { showRecord } from '../shared/show-records.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { checkScopes } from './keys.ts';
import { userIdOf } from './server-side.ts';

export interface KeyUpdateOptions {
  name?: string;
  scope?: string[];
  expires?: Date | null;
  allow?: string[];
  disable?: boolean;
  enable?: boolean;
  /** Whose key, for admins; absent: the caller's. */
  user?: string;
  json?: boolean;
}

/** Changes what the options name of a key. */
export async function updateKey(
  client: ApiClient,
  idOrName: string,
  { name, scope, expires, allow, disable, enable, user, json }: KeyUpdateOptions,
  output: CliOutput,
): Promise<void> {
  if (disable && enable) throw new UsageError('--disable and --enable exclude each other');
  if (scope) checkScopes(scope);
  const body = {
    ...(name !== undefined && { name }),
    ...(scope && { scopes: scope }),
    ...(expires !== undefined && { expiresAt: expires === null ? null : expires.toISOString() }),
    ...(allow && { allowedAddresses: allow.filter((address) => address !== 'any') }),
    ...((disable || enable) && { disabled: disable === true }),
  };
  if (Object.keys(body).length === 0)
    throw new UsageError('there is nothing to change: see podyard keys update --help');
  const userId = user === undefined ? null : await userIdOf(client, user);
  const { id } = await findKey(client, userId, idOrName);
  const changed =
    userId === null
      ? await client.call('patch', '/v2/account/api-keys/{id}', { path: { id }, body })
      : await client.call('patch', '/v2/account/users/{id}/api-keys/{keyId}', {
          path: { id: userId, keyId: id },
          body,
        });
  showRecord(changed, json, output);
}

/** Prints only the new secret on stdout, for scripts. */
export async function rotateKey(
  client: ApiClient,
  idOrName: string,
  { overlapHours, user, json }: { overlapHours?: number; user?: string; json?: boolean },
  output: CliOutput,
): Promise<void> {
  const userId = user === undefined ? null : await userIdOf(client, user);
  const { id } = await findKey(client, userId, idOrName);
  const body = overlapHours === undefined ? {} : { overlapHours };
  const key =
    userId === null
      ? await client.call('post', '/v2/account/api-keys/{id}/rotate', { path: { id }, body })
      : await client.call('post', '/v2/account/users/{id}/api-keys/{keyId}/rotate', {
          path: { id: userId, keyId: id },
          body,
        });
  if (json) return output.print(jsonText(key));
  output.print(key.secret);
  output.note(
    `This is key ${key.id}. It is shown only once. The replaced one goes on for ${overlapHours ?? 24} hours.`,
  );
}

async function findKey(client: ApiClient, userId: string | null, idOrName: string): Promise<Schemas['ApiKey']> {
  const { apiKeys } =
    userId === null
      ? await client.call('get', '/v2/account/api-keys', {})
      : await client.call('get', '/v2/account/users/{id}/api-keys', { path: { id: userId } });
  const found = apiKeys.filter(({ id, name }) => id === idOrName || name === idOrName);
  if (found.length > 1) {
    const ids = found.map(({ id }) => id).join(', ');
    throw new Error(`${found.length} keys are named '${idOrName}': use an id, one of ${ids}`);
  }
  if (found[0]) return found[0];
  const names = apiKeys.flatMap(({ id, name }) => [id, name]);
  throw new Error(`API key not found: '${idOrName}'${didYouMean(idOrName, names)}`);
}
