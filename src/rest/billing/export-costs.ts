import { Readable } from 'node:stream';
import { readCostScope } from '../../domain/billing/cost-scope.ts';
import { EXPORT_COLUMNS, exportCosts } from '../../domain/billing/export-costs.ts';
import { COST_GROUPS, dayOf } from '../../domain/billing/read-costs.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { toBucketRange } from './billing-wire.ts';
import { CostExportQuery } from './cost-schemas.ts';

const EXAMPLE = `${EXPORT_COLUMNS.join(',')}\r\n2026-11-19,usr1f7w2k9d4hs,alice,SERVERLESS,k3v8q2m7c1x9za,transcriber,3600,0,72000,0.69,0,0.00274,0.69274\r\n`;

export const exportCostsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/billing/export',
    {
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
    },
    async ({ actor, query }, reply) => {
      const { by = 'product', userId, ...period } = query;
      const scope = await readCostScope(deps.pool, actor, userId);
      const range = toBucketRange({ ...period, bucketSize: 'day' }, deps.clock.now());
      const lines = exportCosts(deps.pool, { scope, kind: COST_GROUPS[by], range });
      const file = `podyard-costs-${dayOf(range.startMs)}-${dayOf(range.endMs - 1)}.csv`;
      return reply
        .headers({ 'content-type': 'text/csv; charset=utf-8', 'content-disposition': `attachment; filename="${file}"` })
        .send(Readable.from(lines, { objectMode: false }));
    },
  );
};
