import { cpuFlavors } from '../../domain/catalog/catalog.ts';
import { cpuDescriber, toCpuFlavorResponse } from '../catalog-wire.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { CpuFlavorList, CpuFlavorListQuery } from '../schemas/catalog-schemas.ts';
import { ref } from '../schemas/schema.ts';

export const listCpuFlavorsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/catalog/cpus',
    {
      schema: {
        operationId: 'listCpuFlavors',
        summary: 'List CPU flavors',
        tags: ['catalog'],
        querystring: CpuFlavorListQuery,
        response: { 200: ref(CpuFlavorList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
    },
    // Every flavor is for both products.

    async (request) => {
      const describe = await cpuDescriber(deps.capacity, request.query);
      const entries = cpuFlavors();
      return { cpus: entries.map((entry) => toCpuFlavorResponse(entry, describe(entry))) };
    },
  );
};
