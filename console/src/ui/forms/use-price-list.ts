import { useQuery } from '@tanstack/react-query';
import { cpusQuery, gpuCapacityQuery, gpusQuery } from '../../api/catalog-queries.ts';
import type { PriceList } from './hourly-price.ts';

/** Returns the prices of the catalog, and what is free. */
export function usePriceList(): PriceList {
  const gpus = useQuery(gpusQuery);
  const cpus = useQuery(cpusQuery);
  const capacity = useQuery(gpuCapacityQuery);
  return { gpus: gpus.data?.gpus, cpus: cpus.data?.cpus, capacity: capacity.data?.gpus };
}
