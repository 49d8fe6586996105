import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../../api/client.ts';

const FETCHING_MS = 1_000;
const IDLE_MS = 15_000;

/** The models of the machine: read every second while one is fetched. */
export const storedModelsQuery = queryOptions({
  queryKey: ['stored-models'],
  queryFn: () => unwrap(api.GET('/v2/models')),
  refetchInterval: ({ state: { data } }) =>
    data?.models.some(({ state }) => state === 'FETCHING') ? FETCHING_MS : IDLE_MS,
});

/** The names of the secrets, for a field; none where the key may not read them. */
export function useSecretNames(): string[] {
  const query = useQuery({
    queryKey: ['secrets'],
    queryFn: () => unwrap(api.GET('/v2/account/secrets')),
    retry: false,
  });
  return (query.data?.secrets ?? []).map(({ name }) => name);
}
