import { gpuTypes } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { GpuTypeList, GpuTypeListQuery } from './catalog-schemas.ts';
import { gpuDescriber, isOfProduct, toGpuTypeResponse } from './catalog-wire.ts';

export const listGpuTypesRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/catalog/gpus',
    {
      schema: {
        operationId: 'listGpuTypes',
        summary: 'List GPU types',
        tags: ['catalog'],
        querystring: GpuTypeListQuery,
        response: { 200: ref(GpuTypeList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
    },
    async (request) => {
      const describe = await gpuDescriber(deps.capacity, request.query);
      const entries = gpuTypes().filter((gpu) => isOfProduct(gpu, request.query.product));
      return { gpus: entries.map((entry) => toGpuTypeResponse(entry, describe(entry))) };
    },
  );
};
