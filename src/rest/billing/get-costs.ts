import { readCostScope } from '../../domain/billing/cost-scope.ts';
import { DEFAULT_GROUPS, readCosts } from '../../domain/billing/read-costs.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { toBucketRange } from './billing-wire.ts';
import { CostQuery, CostsResponse } from './cost-schemas.ts';

export const getCostsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/billing/costs',
    {
      schema: {
        operationId: 'getCosts',
        summary: 'Get costs by resource, product or user',
        description: 'Podyard only. Returns what things cost in a range of days, the largest first, and by day.',
        tags: ['podyard'],
        querystring: CostQuery,
        response: { 200: ref(CostsResponse) },
      },
      config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    },
    async ({ actor, query }) => {
      const { by = 'product', limit = DEFAULT_GROUPS, userId, ...period } = query;
      const scope = await readCostScope(deps.pool, actor, userId);
      const range = toBucketRange({ ...period, bucketSize: 'day' }, deps.clock.now());
      const costs = await readCosts(deps.pool, { scope, by, range, limit });
      const [startTime, endTime] = [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString());
      return { by, startTime: startTime!, endTime: endTime!, ...costs };
    },
  );
};
