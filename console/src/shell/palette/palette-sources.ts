import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, BASE_URL, unwrap } from '../../api/client.ts';
import {
  accountQuery,
  buildsQuery,
  endpointsQuery,
  podsQuery,
  registriesQuery,
  templatesQuery,
  volumesQuery,
} from '../../api/queries.ts';
import { signOut } from '../../api/sign-in-calls.ts';
import { shortCommit } from '../../pages/models/model-values.ts';
import { storedModelsQuery } from '../../pages/models/models-query.ts';
import { usersQuery } from '../../pages/users/users-query.ts';
import { notifyError, notifySuccess } from '../../ui/notify.ts';
import { formatDate } from '../../ui/text/format.ts';
import { enumLabel } from '../../ui/text/labels.ts';
import { useMenu } from '../pages.ts';
import { type PaletteItem, paletteItem } from './palette-items.ts';

/** Lists are read again when the palette is opened and they are older. */
const STALE_MS = 30_000;

const clustersQuery = queryOptions({ queryKey: ['clusters'], queryFn: () => unwrap(api.GET('/v2/clusters')) });
const secretsQuery = queryOptions({ queryKey: ['secrets'], queryFn: () => unwrap(api.GET('/v2/account/secrets')) });

/** Returns the user's records as items, and whether some are still loading. What the key may not read is left out. */
export function usePaletteRecords(): { items: readonly PaletteItem[]; isLoading: boolean } {
  const endpoints = useQuery({ ...endpointsQuery, staleTime: STALE_MS });
  const pods = useQuery({ ...podsQuery, staleTime: STALE_MS });
  const clusters = useQuery({ ...clustersQuery, staleTime: STALE_MS });
  const templates = useQuery({ ...templatesQuery, staleTime: STALE_MS });
  const secrets = useQuery({ ...secretsQuery, staleTime: STALE_MS });
  const volumes = useQuery({ ...volumesQuery, staleTime: STALE_MS });
  const registries = useQuery({ ...registriesQuery, staleTime: STALE_MS });
  const models = useQuery({ ...storedModelsQuery, staleTime: STALE_MS, refetchInterval: false });
  const builds = useQuery({ ...buildsQuery, staleTime: STALE_MS });
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const users = useQuery({ ...usersQuery, staleTime: STALE_MS, enabled: isAdmin });
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
      users.data,
    ],
  );
  const isLoading = [endpoints, pods, clusters, templates, secrets, volumes, registries, models, builds].some(
    (one) => one.isPending,
  );
  return { items, isLoading };
}

/** The list of a kind that has no page of its own, searched for one record. */
function found(list: string, name: string): string {
  return `${list}?q=${encodeURIComponent(name)}`;
}

/** Forms that have a page or a dialog of their own. */
const FORMS = [
  ['Create endpoint…', '/endpoints/new', 'new deploy'],
  ['Deploy a model…', '/models/deploy', 'new hugging face endpoint'],
  ['Fetch a model ahead…', '/models?new', 'new download'],
  ['Create pod…', '/pods/new', 'new'],
  ['Create cluster…', '/clusters/new', 'new'],
  ['Create template…', '/templates?new', 'new'],
  ['Create secret…', '/secrets?new', 'new'],
  ['Create network volume…', '/volumes?new', 'new'],
  ['Create API key…', '/keys?new', 'new token'],
].map(([label, to, keywords]) => paletteItem('Action', label!, { to: to!, keywords: keywords! }));

/** The pages, and what can be done from anywhere. */
export function usePaletteActions(): readonly PaletteItem[] {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'dark' ? 'light' : 'dark';
  const pages = useMenu().flatMap((group) => group.pages);
  return [
    ...pages.map(({ to, label, keywords = '' }) => paletteItem('Page', label, { to, keywords: `go to ${keywords}` })),
    ...FORMS,
    paletteItem('Action', `Switch to ${other}`, {
      run: () => setColorScheme(other),
      keywords: 'color scheme mode theme',
    }),
    paletteItem('Action', 'Use the color scheme of the system', {
      run: () => setColorScheme('auto'),
      keywords: 'auto dark light theme',
    }),
    paletteItem('Action', 'Copy the link to this page', { run: copyLink, keywords: 'share url' }),
    paletteItem('Action', 'Open the documentation', { run: () => open(`${BASE_URL}/docs/`), keywords: 'help guide' }),
    paletteItem('Action', 'Open the API reference', {
      run: () => open(`${BASE_URL}/docs/api/`),
      keywords: 'rest openapi',
    }),
    paletteItem('Action', 'Sign out', { run: () => void signOut(), keywords: 'log out leave' }),
  ];
}

function copyLink(): void {
  navigator.clipboard.writeText(location.href).then(() => notifySuccess('Copied the link.'), notifyError);
}
