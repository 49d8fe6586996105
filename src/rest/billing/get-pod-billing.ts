import { billingRoute } from './billing-route.ts';
import { POD_REPORT, PodBillingResponse } from './billing-schemas.ts';

export const getPodBillingRoute = billingRoute({
  path: '/v2/billing/pods',
  operationId: 'getPodBilling',
  summary: 'Get the cost of pods',
  shape: POD_REPORT,
  response: PodBillingResponse,
  kind: 'POD',
});
