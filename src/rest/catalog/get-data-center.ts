import { notFound } from '../../core/errors.ts';
import { findDataCenter } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CatalogParams, DataCenterQuery, DataCenterResponse } from './catalog-schemas.ts';
import { type CatalogWire, dataCenterDescriber } from './catalog-wire.ts';

export const getDataCenterRoute =
  (wire: CatalogWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/datacenters/:id',
      {
        schema: {
          operationId: 'getDataCenter',
          summary: 'Get a data center',
          tags: ['catalog'],
          params: CatalogParams,
          querystring: DataCenterQuery,
          response: { 200: ref(DataCenterResponse) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['notFound', 'unprocessable'] },
      },
      async (request) => {
        const dataCenter = findDataCenter(request.params.id);
        if (!dataCenter) throw notFound('Data center');
        const describe = await dataCenterDescriber(deps.capacity, wire, request.query.include);
        return { ...dataCenter, ...describe(dataCenter) };
      },
    );
  };
