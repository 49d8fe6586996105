import { queryOptions, skipToken } from '@tanstack/react-query';
import { api, request, type Schemas, unwrap } from './client.ts';
import { keepSession } from './session.ts';

/** Queries that several pages share, so that each has one cache entry. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: async () => {
    const account = await unwrap(api.GET('/v2/account'));
    keepSession();
    return account;
  },
});

/** The teams of the signed-in user, whatever account they act for, even if the URL names a team that is not theirs. */
export const teamsQuery = queryOptions({
  queryKey: ['teams', 'own'],
  retry: false, // a key that may not read the account has no teams to show
  queryFn: () => unwrap(api.GET('/v2/teams', { headers: { 'podyard-team': '' } })),
});

/** More than a screen has. */
const FIRST_ENDPOINTS = 100;

/** The first of a long list of endpoints, which is there before the whole. Nothing if the list is short. */
export const firstEndpointsQuery = queryOptions<Schemas['EndpointList']>({
  queryKey: ['first-endpoints'],
  queryFn: skipToken,
});

export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: async ({ client, queryKey }) => {
    if (client.getQueryData(queryKey) === undefined) {
      const first = await unwrap(api.GET('/v2/serverless', { params: { query: { limit: FIRST_ENDPOINTS } } }));
      if (first.endpoints.length < FIRST_ENDPOINTS) return first;
      client.setQueryData(firstEndpointsQuery.queryKey, first);
    }
    return unwrap(api.GET('/v2/serverless'));
  },
});

export const endedWorkersQuery = (id: string) =>
  queryOptions({
    queryKey: ['endpoint', id, 'ended-workers'],
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/workers', { params: { path: { id }, query: { include: 'ENDED' } } })),
  });

export const podsQuery = queryOptions({ queryKey: ['pods'], queryFn: () => unwrap(api.GET('/v2/pods')) });

/** The newest builds. */
export const buildsQuery = queryOptions({
  queryKey: ['builds', 'newest'],
  queryFn: () => unwrap(api.GET('/v2/builds')),
});

export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: () => unwrap(api.GET('/v2/templates')),
});

export const volumesQuery = queryOptions({
  queryKey: ['volumes'],
  queryFn: () => unwrap(api.GET('/v2/network-volumes')),
});

export const registriesQuery = queryOptions({
  queryKey: ['registries'],
  queryFn: () => unwrap(api.GET('/v2/registries')),
});

export const installationQuery = queryOptions({
  queryKey: ['installation'],
  queryFn: () => unwrap(api.GET('/v2/account/installation')),
});

/** The models that endpoints are known to serve. Asking starts no worker. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  staleTime: 60_000,
  retry: false, // a key that may not invoke does without
  queryFn: async ({ signal }) => {
    const response = await request('/openai/v1/models', { signal });
    return ((await response.json()) as { data: { id: string; owned_by: string }[] }).data;
  },
});
