import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, unwrap } from '../../api/client.ts';
import {
  accountQuery,
  buildsQuery,
  endpointsQuery,
  podsQuery,
  registriesQuery,
  teamsQuery,
  templatesQuery,
  volumesQuery,
} from '../../api/queries.ts';
import { shortCommit } from '../../pages/models/model-values.ts';
import { storedModelsQuery } from '../../pages/models/models-query.ts';
import { usersQuery } from '../../pages/users/users-query.ts';
import { formatDate } from '../../ui/text/format.ts';
import { enumLabel } from '../../ui/text/labels.ts';
import { type PaletteItem, paletteItem } from './palette-items.ts';

/** Lists are read again when the palette is opened and they are older. */
const STALE_MS = 30_000;

const clustersQuery = queryOptions({ queryKey: ['clusters'], queryFn: () => unwrap(api.GET('/v2/clusters')) });
const secretsQuery = queryOptions({ queryKey: ['secrets'], queryFn: () => unwrap(api.GET('/v2/account/secrets')) });
const keysQuery = queryOptions({ queryKey: ['keys'], queryFn: () => unwrap(api.GET('/v2/account/api-keys')) });

/** Returns the user's records as items, and whether some are still loading. What the key may not read is left out. */
export function usePaletteRecords(): { items: readonly PaletteItem[]; isLoading: boolean } {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const fresh = { staleTime: STALE_MS };
  const lists = useQueries({
    queries: [
      { ...endpointsQuery, ...fresh },
      { ...podsQuery, ...fresh },
      { ...clustersQuery, ...fresh },
      { ...templatesQuery, ...fresh },
      { ...secretsQuery, ...fresh },
      { ...volumesQuery, ...fresh },
      { ...registriesQuery, ...fresh },
      { ...storedModelsQuery, ...fresh, refetchInterval: false as const },
      { ...buildsQuery, ...fresh },
      { ...teamsQuery, ...fresh },
      { ...keysQuery, ...fresh },
      { ...usersQuery, ...fresh, enabled: isAdmin },
    ],
  });
  const [endpoints, pods, clusters, templates, secrets, volumes, registries, models, builds, teams, keys, users] =
    lists;
  const items = useMemo(
    () => [
      ...(endpoints.data?.endpoints ?? []).map(({ id, name, image }) =>
        paletteItem('Endpoint', name, { id, detail: image, to: `/endpoints/${id}` }),
      ),
      ...(pods.data?.pods ?? []).map(({ id, name, image }) =>
        paletteItem('Pod', name, { id, detail: image, to: `/pods/${id}` }),
      ),
      ...(clusters.data?.clusters ?? []).map(({ id, name }) =>
        paletteItem('Cluster', name, { id, to: `/clusters/${id}` }),
      ),
      ...(templates.data?.templates ?? []).map(({ id, name, image }) =>
        paletteItem('Template', name, { id, detail: image, to: found('/templates', name) }),
      ),
      ...(secrets.data?.secrets ?? []).map(({ id, name }) =>
        paletteItem('Secret', name, { id, to: found('/secrets', name) }),
      ),
      ...(volumes.data?.networkVolumes ?? []).map(({ id, name, dataCenter }) =>
        paletteItem('Volume', name, { id, detail: dataCenter, to: found('/volumes', name) }),
      ),
      ...(registries.data?.registries ?? []).map(({ id, name }) =>
        paletteItem('Registry', name, { id, to: found('/registries', name) }),
      ),
      ...(models.data?.models ?? []).map(({ id, name, commit }) =>
        paletteItem('Model', name, { id, detail: shortCommit(commit), to: found('/models', name) }),
      ),
      // After the others: an endpoint and its builds often have the same name.
      ...(builds.data?.builds ?? []).map(({ id, name, status, createdAt }) =>
        paletteItem('Build', name, {
          id,
          detail: `${enumLabel(status)}, ${formatDate(createdAt)}`,
          to: `/builds/${id}`,
        }),
      ),
      ...(teams.data?.teams ?? []).map(({ id, name }) => paletteItem('Team', name, { id, to: `/teams/${id}` })),
      ...(keys.data?.apiKeys ?? []).map(({ id, name }) => paletteItem('Key', name, { id, to: found('/keys', name) })),
      ...(users.data ?? []).map(({ userId, name, email }) =>
        paletteItem('User', name, { id: userId, detail: email ?? '', to: `/users/${userId}` }),
      ),
    ],
    [
      endpoints.data,
      pods.data,
      clusters.data,
      templates.data,
      secrets.data,
      volumes.data,
      registries.data,
      models.data,
      builds.data,
      teams.data,
      keys.data,
      users.data,
    ],
  );
  return { items, isLoading: lists.some(({ isLoading }) => isLoading) };
}

/** The list of a kind that has no page of its own, searched for one record. */
function found(list: string, name: string): string {
  return `${list}?q=${encodeURIComponent(name)}`;
}
