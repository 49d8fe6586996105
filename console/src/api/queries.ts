import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client.ts';

/** Queries that several pages share, so that each has one cache entry. */
export const endpointsQuery = queryOptions({
  queryKey: ['endpoints'],
  queryFn: () => unwrap(api.GET('/v2/serverless')),
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
