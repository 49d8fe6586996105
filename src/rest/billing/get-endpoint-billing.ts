import { billingRoute } from './billing-route.ts';
import { ENDPOINT_REPORT, EndpointBillingResponse } from './billing-schemas.ts';

/** Public endpoints of the provider: one’s own cloud has none, so there is never a record. */
export const getEndpointBillingRoute = billingRoute({
  path: '/v2/billing/endpoints',
  operationId: 'getEndpointBilling',
  summary: 'Get what public endpoints cost',
  shape: ENDPOINT_REPORT,
  response: EndpointBillingResponse,
  kind: 'none',
});
