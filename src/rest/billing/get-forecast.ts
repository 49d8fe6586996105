import { readCostScope } from '../../domain/billing/cost-scope.ts';
import { readForecast } from '../../domain/billing/read-forecast.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ForecastQuery, ForecastResponse } from './cost-schemas.ts';

export const getForecastRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/billing/forecast',
    {
      schema: {
        operationId: 'getCostForecast',
        summary: 'Forecast the cost of the month',
        description:
          'Podyard only. Returns what the current month (UTC) has cost and will cost, and how that is computed.',
        tags: ['podyard'],
        querystring: ForecastQuery,
        response: { 200: ref(ForecastResponse) },
      },
      config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    },
    async ({ actor, query }) => {
      const scope = await readCostScope(deps.pool, actor, query.userId);
      const { startMs, endMs, ...forecast } = await readForecast(deps.pool, scope, deps.clock.now());
      return { ...forecast, startTime: new Date(startMs).toISOString(), endTime: new Date(endMs).toISOString() };
    },
  );
};
