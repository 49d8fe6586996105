import { LEAST_VCPUS } from '../shared/least-vcpus.ts';
import { cpuFlavorQueries, gpuTypeQueries } from './catalog-schemas.ts';
import type { CatalogWire } from './catalog-wire.ts';

export const CATALOG_WIRE_2026_07: CatalogWire = {
  schemas: [],
  examples: {},
  gpuQueries: gpuTypeQueries('^[0-9]{1,3}([.][0-9]{1,3}){0,2}$', false),
  cpuQueries: cpuFlavorQueries(false, LEAST_VCPUS['2026-07']),
  leastVcpus: LEAST_VCPUS['2026-07'],
  checkQuery: () => {},
  withoutEmpty: (entry) => entry,
};
