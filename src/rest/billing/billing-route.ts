import { listCharges } from '../../domain/billing/list-charges.ts';
import type { UsageKind } from '../../domain/billing/usage.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { billingQuery, type billingReport, type ReportShape } from './billing-schemas.ts';
import { overallAmount, ownAmount, toBillingReport, toBucketRange } from './billing-wire.ts';

/** Returns the route of one billing report. Reports differ in what they count and in field names. */
export function billingRoute(options: {
  path: string;
  operationId: string;
  summary: string;
  shape: ReportShape;
  response: ReturnType<typeof billingReport>;
  /** The usage to count: one kind, `all`, or `none` for products that do not exist here. */
  kind: UsageKind | 'all' | 'none';
}): RestRoute {
  const { path, operationId, summary, shape, response, kind } = options;
  return (app, deps) => {
    app.get(
      path,
      {
        schema: {
          operationId,
          summary,
          tags: ['billing'],
          querystring: billingQuery(shape),
          response: { 200: ref(response) },
        },
        config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
      },
      async (request) => {
        const range = toBucketRange(request.query, deps.clock.now());
        const filter = shape.resource && ((request.query[shape.resource.idField] as string | undefined) ?? null);
        if (kind === 'none') return toBillingReport(shape, [], range, filter, ownAmount);
        const { userId } = request.actor;
        const query = { userId, kind: kind === 'all' ? null : kind, resourceId: filter, range };
        const charges = await listCharges(deps.pool, query);
        return toBillingReport(shape, charges, range, filter, kind === 'all' ? overallAmount : ownAmount);
      },
    );
  };
}
