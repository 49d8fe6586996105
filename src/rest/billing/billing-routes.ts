import { listCharges } from '../../domain/billing/list-charges.ts';
import type { UsageKind } from '../../domain/billing/usage.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  BillingResponse,
  billingQuery,
  type billingReport,
  CLUSTER_REPORT,
  ClusterBillingResponse,
  ENDPOINT_REPORT,
  EndpointBillingResponse,
  NETWORK_VOLUME_REPORT,
  NetworkVolumeBillingResponse,
  POD_REPORT,
  PodBillingResponse,
  type ReportShape,
  SERVERLESS_REPORT,
  ServerlessBillingResponse,
  TOTAL_REPORT,
} from './billing-schemas.ts';
import { overallAmount, ownAmount, toBillingReport, toBucketRange } from './billing-wire.ts';

/** Returns the route of one billing report. Reports differ in what they count and in field names. */
function billingRoute(options: {
  path: string;
  operationId: string;
  summary: string;
  shape: ReportShape;
  response: ReturnType<typeof billingReport>;
  /** The usage to count: one kind, `all`, or `none` for products that do not exist here. */
  kind: UsageKind | 'all' | 'none';
}): RestRoute {
  const { path, operationId, summary, shape, response, kind } = options;
  return (app, deps) => {
    app.get(path, {
      schema: {
        operationId,
        summary,
        tags: ['billing'],
        querystring: billingQuery(shape),
        response: { 200: ref(response) },
      },
      config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
      handler: async (request) => {
        const range = toBucketRange(request.query, deps.clock.now());
        const filter = shape.resource && ((request.query[shape.resource.idField] as string | undefined) ?? null);
        if (kind === 'none') return toBillingReport(shape, [], range, filter, ownAmount);
        const { userId } = request.actor;
        const query = { userId, kind: kind === 'all' ? null : kind, resourceId: filter, range };
        const charges = await listCharges(deps.pool, query);
        return toBillingReport(shape, charges, range, filter, kind === 'all' ? overallAmount : ownAmount);
      },
    });
  };
}

export const getBillingRoute = billingRoute({
  path: '/v2/billing',
  operationId: 'getBilling',
  summary: 'Get the overall cost',
  shape: TOTAL_REPORT,
  response: BillingResponse,
  kind: 'all',
});

export const getPodBillingRoute = billingRoute({
  path: '/v2/billing/pods',
  operationId: 'getPodBilling',
  summary: 'Get the cost of pods',
  shape: POD_REPORT,
  response: PodBillingResponse,
  kind: 'POD',
});

export const getServerlessBillingRoute = billingRoute({
  path: '/v2/billing/serverless',
  operationId: 'getServerlessBilling',
  summary: 'Get the cost of serverless workers',
  shape: SERVERLESS_REPORT,
  response: ServerlessBillingResponse,
  kind: 'SERVERLESS',
});

/** Always empty: there are no public endpoints of a provider here. */
export const getEndpointBillingRoute = billingRoute({
  path: '/v2/billing/endpoints',
  operationId: 'getEndpointBilling',
  summary: 'Get the cost of public endpoints',
  shape: ENDPOINT_REPORT,
  response: EndpointBillingResponse,
  kind: 'none',
});

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

export const getClusterBillingRoute = billingRoute({
  path: '/v2/billing/clusters',
  operationId: 'getClusterBilling',
  summary: 'Get the cost of clusters',
  shape: CLUSTER_REPORT,
  response: ClusterBillingResponse,
  kind: 'CLUSTER',
});
