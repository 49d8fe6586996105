import { billingRoute } from './billing-route.ts';
import { SERVERLESS_REPORT, ServerlessBillingResponse } from './billing-schemas.ts';

export const getServerlessBillingRoute = billingRoute({
  path: '/v2/billing/serverless',
  operationId: 'getServerlessBilling',
  summary: 'Get the cost of serverless workers',
  shape: SERVERLESS_REPORT,
  response: ServerlessBillingResponse,
  kind: 'SERVERLESS',
});
