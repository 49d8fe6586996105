import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client.ts';

/** Queries that several pages share, so that each has one cache entry. */
export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: () => unwrap(api.GET('/v2/serverless')),
});

/** The endpoints with their states, which the live view has only of those with work. */
export const endpointStatesQuery = queryOptions({
  queryKey: ['endpoints', 'states'],
  queryFn: () => unwrap(api.GET('/v2/serverless', { params: { query: { include: 'STATE' } } })),
  refetchInterval: ({ state }) => ((state.data?.endpoints.length ?? 0) > 2_000 ? 120_000 : 20_000),
});

export const endedWorkersQuery = (id: string) =>
  queryOptions({
    queryKey: ['endpoint', id, 'ended-workers'],
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/workers', { params: { path: { id }, query: { include: 'ENDED' } } })),
  });

export const volumesQuery = queryOptions({
  queryKey: ['volumes'],
  queryFn: () => unwrap(api.GET('/v2/network-volumes')),
});

export const registriesQuery = queryOptions({
  queryKey: ['registries'],
  queryFn: () => unwrap(api.GET('/v2/registries')),
});

/** GPU types with their current availability. */
export const gpusQuery = queryOptions({
  queryKey: ['gpus', 'availability'],
  queryFn: () => unwrap(api.GET('/v2/catalog/gpus', { params: { query: { include: 'AVAILABILITY' } } })),
});

export const cpusQuery = queryOptions({
  queryKey: ['cpus'],
  queryFn: () => unwrap(api.GET('/v2/catalog/cpus')),
});

export const dataCentersQuery = queryOptions({
  queryKey: ['data-centers'],
  queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')),
});
