import { billingRoute } from './billing-route.ts';
import { BillingResponse, TOTAL_REPORT } from './billing-schemas.ts';

export const getBillingRoute = billingRoute({
  path: '/v2/billing',
  operationId: 'getBilling',
  summary: 'Get the overall cost',
  shape: TOTAL_REPORT,
  response: BillingResponse,
  kind: 'all',
});
