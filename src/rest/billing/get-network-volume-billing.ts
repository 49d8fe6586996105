import type { RestRoute } from '../shared/rest-app.ts';
import { billingRoute } from './billing-route.ts';
import { NETWORK_VOLUME_REPORT, NetworkVolumeBillingResponse } from './billing-schemas.ts';

const report = {
  summary: 'Get the cost of network volumes',
  shape: NETWORK_VOLUME_REPORT,
  response: NetworkVolumeBillingResponse,
  kind: 'NETWORK_VOLUME',
} as const;

/** Served at two paths: the public API's, and the spelling of the volumes' own path. */
export const getNetworkVolumeBillingRoute: RestRoute = (app, deps) => {
  billingRoute({ ...report, path: '/v2/billing/networkvolumes', operationId: 'getNetworkVolumeBilling' })(app, deps);
  billingRoute({ ...report, path: '/v2/billing/network-volumes', operationId: 'getNetworkVolumeBillingAlias' })(
    app,
    deps,
  );
};
