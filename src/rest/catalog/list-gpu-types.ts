import { gpuTypes } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { GpuTypeList } from './catalog-schemas.ts';
import { type CatalogWire, gpuDescriber, isOfProduct, toGpuTypeResponse } from './catalog-wire.ts';

export const listGpuTypesRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/gpus',
      {
        schema: {
          operationId: 'listGpuTypes',
          summary: 'List GPU types',
          tags: ['catalog'],
          querystring: wire.gpuQueries.list,
          response: { 200: ref(GpuTypeList) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
      },
      async (request) => {
        const describe = await gpuDescriber(deps.capacity, wire, request.query);
        const entries = gpuTypes().filter((gpu) => isOfProduct(gpu, request.query.product));
        return { gpus: entries.map((entry) => toGpuTypeResponse(entry, describe(entry))) };
      },
    );
  };
