import { billingRoute } from './billing-route.ts';
import { CLUSTER_REPORT, ClusterBillingResponse } from './billing-schemas.ts';

export const getClusterBillingRoute = billingRoute({
  path: '/v2/billing/clusters',
  operationId: 'getClusterBilling',
  summary: 'Get the cost of clusters',
  shape: CLUSTER_REPORT,
  response: ClusterBillingResponse,
  kind: 'CLUSTER',
});
