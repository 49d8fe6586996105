import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import { ID } from '../shared/find-record.ts';
import type { Wire } from '../shared/records.ts';
import { ServerSide } from './server-side.ts';

/** Returns the id of a user, by id or name; the text itself, for the server to judge, if the key may not list users. */
export async function userIdOf(client: ApiClient, nameOrId: string): Promise<string> {
  return new ServerSide(client).findUser(nameOrId).then(
    ({ userId }) => userId,
    (error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 403) return nameOrId;
      throw error;
    },
  );
}

/** Finds an endpoint of another user, whose endpoints only the costs name: by id, or by a name that has cost something. */
export async function endpointIdOfUser(client: ApiClient, userId: string, idOrName: string): Promise<string> {
  if (ID.test(idOrName)) return idOrName;
  const query = new URLSearchParams({ by: 'endpoint', userId, lastN: '30' });
  const { groups } = await client.call<{ groups: Wire[] }>('GET', `/v2/billing/costs?${query}`);
  const named = groups.filter(({ name, isDeleted }) => name === idOrName && !isDeleted);
  if (named.length === 1) return named[0]!.id;
  throw new ApiRefusal(404, `this user has no endpoint named '${idOrName}' with costs: use its id`);
}
