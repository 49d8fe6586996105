import { notFound } from '../../core/errors.ts';
import {
  cpuFlavors,
  dataCenters,
  findCpuFlavor,
  findDataCenter,
  findGpuType,
  gpuTypes,
} from '../../domain/catalog/catalog.ts';
import { listPublicTemplates } from '../../domain/templates/template-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateList, type TemplateWire, toTemplateResponse } from '../templates/template-wire.ts';
import {
  CatalogParams,
  CpuFlavorList,
  CpuFlavorResponse,
  DataCenterList,
  DataCenterListQuery,
  DataCenterQuery,
  DataCenterResponse,
  GpuCapacity,
  GpuTypeList,
  GpuTypeResponse,
  MAX_TEMPLATES,
  PublicTemplateQuery,
} from './catalog-schemas.ts';
import {
  type CatalogWire,
  cpuDescriber,
  dataCenterDescriber,
  gpuDescriber,
  isOfProduct,
  matches,
  toCpuFlavorResponse,
  toGpuTypeResponse,
  toTemplateSources,
} from './catalog-wire.ts';

export const catalogRoutes =
  (wire: CatalogWire, templateWire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/catalog/gpus', {
      schema: {
        operationId: 'listGpuTypes',
        summary: 'List GPU types',
        tags: ['catalog'],
        querystring: wire.gpuQueries.list,
        response: { 200: ref(GpuTypeList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
      handler: async (request) => {
        const describe = await gpuDescriber(deps.capacity, wire, request.query);
        const entries = gpuTypes().filter((gpu) => isOfProduct(gpu, request.query.product));
        return { gpus: entries.map((entry) => toGpuTypeResponse(entry, describe(entry))) };
      },
    });

    app.get('/v2/catalog/gpus/:id', {
      schema: {
        operationId: 'getGpuType',
        summary: 'Get a GPU type',
        tags: ['catalog'],
        params: CatalogParams,
        querystring: wire.gpuQueries.one,
        response: { 200: ref(GpuTypeResponse) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'notFound', 'unprocessable'] },
      handler: async (request) => {
        const gpu = findGpuType(request.params.id);
        if (!gpu) throw notFound('GPU type');
        const describe = await gpuDescriber(deps.capacity, wire, request.query);
        return toGpuTypeResponse(gpu, describe(gpu));
      },
    });

    app.get('/v2/catalog/capacity', {
      schema: {
        operationId: 'getGpuCapacity',
        summary: 'Count the GPUs of this installation',
        description: 'Podyard only. How many GPUs of each type are here, and how many of them are free now.',
        tags: ['podyard'],
        response: { 200: ref(GpuCapacity) },
      },
      config: { permission: PERMISSIONS.readCatalog },
      handler: async () => {
        const { gpus } = await deps.capacity.read();
        const types = new Map<string, { id: string; pool: string; total: number; free: number }>();
        for (const { gpuTypeId, pool, total, free } of gpus) {
          if (total === 0) continue;
          const known = types.get(gpuTypeId) ?? { id: gpuTypeId, pool, total: 0, free: 0 };
          types.set(gpuTypeId, { ...known, total: known.total + total, free: known.free + Math.max(0, free) });
        }
        const named = [...types.values()].map((type) => ({ ...type, name: findGpuType(type.id)?.name ?? type.id }));
        return { gpus: named.toSorted((a, b) => a.id.localeCompare(b.id)) };
      },
    });

    app.get('/v2/catalog/cpus', {
      schema: {
        operationId: 'listCpuFlavors',
        summary: 'List CPU flavors',
        tags: ['catalog'],
        querystring: wire.cpuQueries.list,
        response: { 200: ref(CpuFlavorList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'unprocessable'] },
      // `product` filters nothing: every flavor is available to both products.
      handler: async (request) => {
        const describe = await cpuDescriber(deps.capacity, wire, request.query);
        const entries = cpuFlavors();
        return { cpus: entries.map((entry) => toCpuFlavorResponse(entry, wire, describe(entry))) };
      },
    });

    app.get('/v2/catalog/cpus/:id', {
      schema: {
        operationId: 'getCpuFlavor',
        summary: 'Get a CPU flavor',
        tags: ['catalog'],
        params: CatalogParams,
        querystring: wire.cpuQueries.one,
        response: { 200: ref(CpuFlavorResponse) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['badRequest', 'notFound', 'unprocessable'] },
      handler: async (request) => {
        const flavor = findCpuFlavor(request.params.id);
        if (!flavor) throw notFound('CPU flavor');
        const describe = await cpuDescriber(deps.capacity, wire, request.query);
        return toCpuFlavorResponse(flavor, wire, describe(flavor));
      },
    });

    app.get('/v2/catalog/datacenters', {
      schema: {
        operationId: 'listDataCenters',
        summary: 'List data centers',
        tags: ['catalog'],
        querystring: DataCenterListQuery,
        response: { 200: ref(DataCenterList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['unprocessable'] },
      handler: async (request) => {
        const describe = await dataCenterDescriber(deps.capacity, wire, request.query.include);
        const found = dataCenters().filter((dataCenter) => matches(dataCenter, request.query));
        return { dataCenters: found.map((dataCenter) => ({ ...dataCenter, ...describe(dataCenter) })) };
      },
    });

    app.get('/v2/catalog/datacenters/:id', {
      schema: {
        operationId: 'getDataCenter',
        summary: 'Get a data center',
        tags: ['catalog'],
        params: CatalogParams,
        querystring: DataCenterQuery,
        response: { 200: ref(DataCenterResponse) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['notFound', 'unprocessable'] },
      handler: async (request) => {
        const dataCenter = findDataCenter(request.params.id);
        if (!dataCenter) throw notFound('Data center');
        const describe = await dataCenterDescriber(deps.capacity, wire, request.query.include);
        return { ...dataCenter, ...describe(dataCenter) };
      },
    });

    app.get('/v2/catalog/templates', {
      schema: {
        operationId: 'listPublicTemplates',
        summary: 'List public templates',
        description:
          'The installation’s own first, then verified ones, then those of other users; of each, those used last first.',
        tags: ['catalog'],
        querystring: PublicTemplateQuery,
        response: { 200: ref(TemplateList) },
      },
      config: { permission: PERMISSIONS.readCatalog, failures: ['unprocessable'] },
      handler: async (request) => {
        const sources = toTemplateSources(request.query);
        const query = { sources, limit: MAX_TEMPLATES };
        const templates = await listPublicTemplates(deps.pool, request.actor.userId, query);
        return { templates: templates.map((template) => toTemplateResponse(templateWire, template)) };
      },
    });
  };
