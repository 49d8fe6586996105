import { Failure } from '../../core/errors.ts';
import { LEAST_VCPUS } from '../shared/least-vcpus.ts';
import { cpuFlavorQueries, gpuTypeQueries } from './catalog-schemas.ts';
import type { CatalogWire } from './catalog-wire.ts';

export const CATALOG_WIRE_2026_08: CatalogWire = {
  schemas: [],
  examples: {},
  gpuQueries: gpuTypeQueries('^\\d+(\\.\\d+)?$', true),
  cpuQueries: cpuFlavorQueries(true, LEAST_VCPUS['2026-08']),
  leastVcpus: LEAST_VCPUS['2026-08'],
  checkQuery: ({ include, product }) => {
    if ((include === undefined) === (product === undefined)) return;
    const [given, missing] = include === undefined ? ['product', 'include=AVAILABILITY'] : ['include', 'product'];
    throw new Failure('badRequest', `${given}: requires ${missing}`);
  },
  withoutEmpty: (entry) => {
    const isKept = ([, value]: [string, unknown]) => !(Array.isArray(value) && value.length === 0);
    return Object.fromEntries(Object.entries(entry).filter(isKept)) as typeof entry;
  },
};
