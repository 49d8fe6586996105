import { notFound } from '../../core/errors.ts';
import { findCpuFlavor } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CatalogParams, CpuFlavorResponse } from './catalog-schemas.ts';
import { type CatalogWire, cpuDescriber, toCpuFlavorResponse } from './catalog-wire.ts';

export const getCpuFlavorRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/cpus/:id',
      {
        schema: {
          operationId: 'getCpuFlavor',
          summary: 'Get a CPU flavor',
          tags: ['catalog'],
          params: CatalogParams,
          querystring: wire.cpuQueries.one,
          response: { 200: ref(CpuFlavorResponse) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'notFound', 'unprocessable'] },
      },
      async (request) => {
        const flavor = findCpuFlavor(request.params.id);
        if (!flavor) throw notFound('CPU flavor');
        const describe = await cpuDescriber(deps.capacity, wire, request.query);
        return toCpuFlavorResponse(flavor, wire, describe(flavor));
      },
    );
  };
