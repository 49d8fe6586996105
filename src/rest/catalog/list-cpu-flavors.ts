import { cpuFlavors } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CpuFlavorList } from './catalog-schemas.ts';
import { type CatalogWire, cpuDescriber, toCpuFlavorResponse } from './catalog-wire.ts';

export const listCpuFlavorsRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/cpus',
      {
        schema: {
          operationId: 'listCpuFlavors',
          summary: 'List CPU flavors',
          tags: ['catalog'],
          querystring: wire.cpuQueries.list,
          response: { 200: ref(CpuFlavorList) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
      },
      // `product` filters nothing: every flavor is available to both products.
      async (request) => {
        const describe = await cpuDescriber(deps.capacity, wire, request.query);
        const entries = cpuFlavors();
        return { cpus: entries.map((entry) => toCpuFlavorResponse(entry, wire, describe(entry))) };
      },
    );
  };
