import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client.ts';

/** GPU types with their current availability. */
export const gpusQuery = queryOptions({
  queryKey: ['gpus', 'availability'],
  queryFn: () =>
    unwrap(
      api.GET('/v2/catalog/gpus', {
        params: { query: { include: 'AVAILABILITY', product: 'POD,CLUSTER,SERVERLESS' } },
      }),
    ),
});

/** The GPUs that are here and free now; an error while the runtime does not answer. */
export const gpuCapacityQuery = queryOptions({
  queryKey: ['gpus', 'capacity'],
  queryFn: () => unwrap(api.GET('/v2/catalog/capacity')),
  retry: false,
});

export const cpusQuery = queryOptions({
  queryKey: ['cpus'],
  queryFn: () => unwrap(api.GET('/v2/catalog/cpus')),
});

export const dataCentersQuery = queryOptions({
  queryKey: ['data-centers'],
  queryFn: () => unwrap(api.GET('/v2/catalog/datacenters')),
});
