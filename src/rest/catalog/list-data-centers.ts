import { dataCenters } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { DataCenterList, DataCenterListQuery } from './catalog-schemas.ts';
import { type CatalogWire, dataCenterDescriber, matches } from './catalog-wire.ts';

export const listDataCentersRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/datacenters',
      {
        schema: {
          operationId: 'listDataCenters',
          summary: 'List data centers',
          tags: ['catalog'],
          querystring: DataCenterListQuery,
          response: { 200: ref(DataCenterList) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['unprocessable'] },
      },
      async (request) => {
        const describe = await dataCenterDescriber(deps.capacity, wire, request.query.include);
        const found = dataCenters().filter((dataCenter) => matches(dataCenter, request.query));
        return { dataCenters: found.map((dataCenter) => ({ ...dataCenter, ...describe(dataCenter) })) };
      },
    );
  };
