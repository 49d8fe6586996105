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

interface Report {
  path: string;
  operationId: string;
  summary: string;
  shape: ReportShape;
  response: ReturnType<typeof billingReport>;
  /** The usage to count: one kind, `all`, or `none` for products that do not exist here. */
  kind: UsageKind | 'all' | 'none';
}

const OF_VOLUMES = {
  summary: 'Get the cost of network volumes',
  shape: NETWORK_VOLUME_REPORT,
  response: NetworkVolumeBillingResponse,
  kind: 'NETWORK_VOLUME',
} as const;

/** They differ in what they count and in field names. */
const REPORTS: readonly Report[] = [
  {
    path: '/v2/billing',
    operationId: 'getBilling',
    summary: 'Get the overall cost',
    shape: TOTAL_REPORT,
    response: BillingResponse,
    kind: 'all',
  },
  {
    path: '/v2/billing/pods',
    operationId: 'getPodBilling',
    summary: 'Get the cost of pods',
    shape: POD_REPORT,
    response: PodBillingResponse,
    kind: 'POD',
  },
  {
    path: '/v2/billing/serverless',
    operationId: 'getServerlessBilling',
    summary: 'Get the cost of serverless workers',
    shape: SERVERLESS_REPORT,
    response: ServerlessBillingResponse,
    kind: 'SERVERLESS',
  },
  {
    path: '/v2/billing/endpoints',
    operationId: 'getEndpointBilling',
    summary: 'Get the cost of public endpoints',
    shape: ENDPOINT_REPORT,
    response: EndpointBillingResponse,
    kind: 'none', // a provider's, which are not here
  },
  // At two paths: the public API's, and the spelling of the volumes' own path.
  { ...OF_VOLUMES, path: '/v2/billing/networkvolumes', operationId: 'getNetworkVolumeBilling' },
  { ...OF_VOLUMES, path: '/v2/billing/network-volumes', operationId: 'getNetworkVolumeBillingAlias' },
  {
    path: '/v2/billing/clusters',
    operationId: 'getClusterBilling',
    summary: 'Get the cost of clusters',
    shape: CLUSTER_REPORT,
    response: ClusterBillingResponse,
    kind: 'CLUSTER',
  },
];

export const billingRoutes: RestRoute = (app, deps) => {
  for (const { path, operationId, summary, shape, response, kind } of REPORTS) {
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
  }
};
