import { notFound } from '../../core/errors.ts';
import { findGpuType } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CatalogParams, GpuTypeResponse } from './catalog-schemas.ts';
import { type CatalogWire, gpuDescriber, toGpuTypeResponse } from './catalog-wire.ts';

export const getGpuTypeRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/gpus/:id',
      {
        schema: {
          operationId: 'getGpuType',
          summary: 'Get a GPU type',
          tags: ['catalog'],
          params: CatalogParams,
          querystring: wire.gpuQueries.one,
          response: { 200: ref(GpuTypeResponse) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'notFound', 'unprocessable'] },
      },
      async (request) => {
        const gpu = findGpuType(request.params.id);
        if (!gpu) throw notFound('GPU type');
        const describe = await gpuDescriber(deps.capacity, wire, request.query);
        return toGpuTypeResponse(gpu, describe(gpu));
      },
    );
  };
