import { billingRoute } from './billing-route.ts';
import { POD_REPORT, PodBillingResponse } from './billing-schemas.ts';

export const getPodBillingRoute = billingRoute({
  path: '/v2/billing/pods',
  operationId: 'getPodBilling',
  summary: 'Get what pods cost',
  shape: POD_REPORT,
  response: PodBillingResponse,
  kind: 'POD',
});
