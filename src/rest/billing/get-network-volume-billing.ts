import type { RestRoute } from '../shared/rest-app.ts';
import { billingRoute } from './billing-route.ts';
import { NETWORK_VOLUME_REPORT, NetworkVolumeBillingResponse } from './billing-schemas.ts';

const report = {
  summary: 'Get what network volumes cost',
  shape: NETWORK_VOLUME_REPORT,
  response: NetworkVolumeBillingResponse,
  kind: 'NETWORK_VOLUME',
} as const;

/** Answered under two paths: the public one, and the one that is spelled like the volumes' own. */
export const getNetworkVolumeBillingRoute: RestRoute = (app, deps) => {
  billingRoute({ ...report, path: '/v2/billing/networkvolumes', operationId: 'getNetworkVolumeBilling' })(app, deps);
  billingRoute({ ...report, path: '/v2/billing/network-volumes', operationId: 'getNetworkVolumeBillingAlias' })(
    app,
    deps,
  );
};
