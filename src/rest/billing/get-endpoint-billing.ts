import { billingRoute } from './billing-route.ts';
import { ENDPOINT_REPORT, EndpointBillingResponse } from './billing-schemas.ts';

/** Always empty: there are no public endpoints of a provider here. */
export const getEndpointBillingRoute = billingRoute({
  path: '/v2/billing/endpoints',
  operationId: 'getEndpointBilling',
  summary: 'Get the cost of public endpoints',
  shape: ENDPOINT_REPORT,
  response: EndpointBillingResponse,
  kind: 'none',
});
