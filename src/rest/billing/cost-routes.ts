import { Readable } from 'node:stream';
import { readCostScope } from '../../domain/billing/cost-scope.ts';
import { EXPORT_COLUMNS, exportCosts } from '../../domain/billing/export-costs.ts';
import { COST_GROUPS, DEFAULT_GROUPS, dayOf, readCosts } from '../../domain/billing/read-costs.ts';
import { readForecast } from '../../domain/billing/read-forecast.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { toBucketRange } from './billing-wire.ts';
import { CostExportQuery, CostQuery, CostsResponse, ForecastQuery, ForecastResponse } from './cost-schemas.ts';

const EXAMPLE = `${EXPORT_COLUMNS.join(',')}\r\n2026-11-19,usr1f7w2k9d4hs,alice,SERVERLESS,k3v8q2m7c1x9za,transcriber,3600,0,72000,0.69,0,0.00274,0.69274\r\n`;

export const costRoutes: RestRoute = (app, deps) => {
  app.get('/v2/billing/costs', {
    schema: {
      operationId: 'getCosts',
      summary: 'Get costs by resource, product or user',
      description: 'Podyard only. Returns what things cost in a range of days, the largest first, and by day.',
      tags: ['podyard'],
      querystring: CostQuery,
      response: { 200: ref(CostsResponse) },
    },
    config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    handler: async ({ actor, query }) => {
      const { by = 'product', limit = DEFAULT_GROUPS, userId, ...period } = query;
      const scope = await readCostScope(deps.pool, actor, userId);
      const range = toBucketRange({ ...period, bucketSize: 'day' }, deps.clock.now());
      const costs = await readCosts(deps.pool, { scope, by, range, limit });
      const [startTime, endTime] = [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString());
      return { by, startTime: startTime!, endTime: endTime!, ...costs };
    },
  });

  app.get('/v2/billing/export', {
    schema: {
      operationId: 'exportCosts',
      summary: 'Export costs as CSV',
      description:
        'Podyard only. Streams one line for each day (UTC) and resource, by user and day. Names that a spreadsheet would ' +
        'take for a formula begin with an apostrophe.',
      tags: ['podyard'],
      querystring: CostExportQuery,
      produces: ['text/csv'],
      response: {
        200: {
          description: 'A table with a header (RFC 4180). Its columns stay; new ones are added at the end.',
          content: { 'text/csv': { schema: Type.Unsafe<Readable>({ type: 'string' }), example: EXAMPLE } },
        },
      },
    },
    config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    handler: async ({ actor, query }, reply) => {
      const { by = 'product', userId, ...period } = query;
      const scope = await readCostScope(deps.pool, actor, userId);
      const range = toBucketRange({ ...period, bucketSize: 'day' }, deps.clock.now());
      const lines = exportCosts(deps.pool, { scope, kind: COST_GROUPS[by], range });
      const file = `podyard-costs-${dayOf(range.startMs)}-${dayOf(range.endMs - 1)}.csv`;
      return reply
        .headers({ 'content-type': 'text/csv; charset=utf-8', 'content-disposition': `attachment; filename="${file}"` })
        .send(Readable.from(lines, { objectMode: false }));
    },
  });

  app.get('/v2/billing/forecast', {
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
    handler: async ({ actor, query }) => {
      const scope = await readCostScope(deps.pool, actor, query.userId);
      const { startMs, endMs, ...forecast } = await readForecast(deps.pool, scope, deps.clock.now());
      return { ...forecast, startTime: new Date(startMs).toISOString(), endTime: new Date(endMs).toISOString() };
    },
  });
};
