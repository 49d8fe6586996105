import { billingRoute } from './billing-route.ts';
import { CLUSTER_REPORT, ClusterBillingResponse } from './billing-schemas.ts';

/** There are no clusters here, so there is never a record. */
export const getClusterBillingRoute = billingRoute({
  path: '/v2/billing/clusters',
  operationId: 'getClusterBilling',
  summary: 'Get what clusters cost',
  shape: CLUSTER_REPORT,
  response: ClusterBillingResponse,
  kind: 'none',
});
