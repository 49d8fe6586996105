import { findGpuType } from '../../domain/catalog/catalog.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { GpuCapacity } from './catalog-schemas.ts';

export const getGpuCapacityRoute: RestRoute = (app, { capacity }) => {
  app.get(
    '/v2/catalog/capacity',
    {
      schema: {
        operationId: 'getGpuCapacity',
        summary: 'Count the GPUs of this installation',
        description: 'Podyard only. How many GPUs of each type are here, and how many of them are free now.',
        tags: ['podyard'],
        response: { 200: ref(GpuCapacity) },
      },
      config: { permission: PERMISSIONS.readCatalog },
    },
    async () => {
      const { gpus } = await capacity.read();
      const types = new Map<string, { id: string; pool: string; total: number; free: number }>();
      for (const { gpuTypeId, pool, total, free } of gpus) {
        if (total === 0) continue;
        const known = types.get(gpuTypeId) ?? { id: gpuTypeId, pool, total: 0, free: 0 };
        types.set(gpuTypeId, { ...known, total: known.total + total, free: known.free + Math.max(0, free) });
      }
      const named = [...types.values()].map((type) => ({ ...type, name: findGpuType(type.id)?.name ?? type.id }));
      return { gpus: named.toSorted((a, b) => a.id.localeCompare(b.id)) };
    },
  );
};
