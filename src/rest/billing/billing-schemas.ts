import { BUCKET_SIZES, type BucketSize } from '../../domain/billing/buckets.ts';
import { ENDPOINT_ID, type NamedSchemas } from '../shared/example-values.ts';
import { dateTime, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

/** The fields with a report's resource ids and with their number. */
interface ReportResource {
  idField: string;
  countField: string;
}

/** How one billing report differs from the others. */
export interface ReportShape {
  name: string;
  /** Null: the report is not broken down by resource. */
  resource: ReportResource | null;
  /** Amount fields of a record. The first, `totalAmount`, is the sum of the others. */
  amounts: readonly string[];
}

export interface BillingQuery {
  startTime?: string;
  endTime?: string;
  bucketSize?: BucketSize;
  lastN?: number;
  /** The report's filter. */
  [idField: string]: unknown;
}

export type Amounts = Record<string, number>;

export interface BillingReport {
  records: Record<string, string | number>[];
  metadata: {
    query: Record<string, string | null>;
    recordCount: number;
    totals: Amounts;
    [countField: string]: unknown;
  };
}

export const MAX_BUCKETS = 10_000;

export const TOTAL_REPORT: ReportShape = {
  name: 'Billing',
  resource: null,
  amounts: [
    'totalAmount',
    'podGpuAmount',
    'podCpuAmount',
    'podDiskAmount',
    'serverlessGpuAmount',
    'serverlessCpuAmount',
    'serverlessDiskAmount',
    'serverlessFeeAmount',
    'storageStandardAmount',
    'storageHighPerformanceAmount',
    'endpointAmount',
    'clusterGpuAmount',
    'clusterDiskAmount',
    'clusterNetworkingAmount',
  ],
};

export const POD_REPORT: ReportShape = {
  name: 'PodBilling',
  resource: { idField: 'podId', countField: 'uniquePodCount' },
  amounts: ['totalAmount', 'gpuAmount', 'cpuAmount', 'diskAmount'],
};

export const SERVERLESS_REPORT: ReportShape = {
  name: 'ServerlessBilling',
  resource: { idField: 'serverlessId', countField: 'uniqueServerlessCount' },
  amounts: ['totalAmount', 'gpuAmount', 'cpuAmount', 'diskAmount', 'feeAmount'],
};

export const ENDPOINT_REPORT: ReportShape = { name: 'EndpointBilling', resource: null, amounts: ['totalAmount'] };

export const NETWORK_VOLUME_REPORT: ReportShape = {
  name: 'NetworkVolumeBilling',
  resource: { idField: 'networkVolumeId', countField: 'uniqueNetworkVolumeCount' },
  amounts: ['totalAmount', 'standardAmount', 'highPerformanceAmount'],
};

export const CLUSTER_REPORT: ReportShape = {
  name: 'ClusterBilling',
  resource: { idField: 'clusterId', countField: 'uniqueClusterCount' },
  amounts: ['totalAmount', 'gpuAmount', 'diskAmount', 'networkingAmount'],
};

/** The query of a report. */
export function billingQuery({ resource }: ReportShape) {
  return Type.Unsafe<BillingQuery>(
    Type.Object({
      startTime: Type.Optional(
        dateTime({ description: 'Start, rounded down to a bucket. Default: 30 days before the end.' }),
      ),
      endTime: Type.Optional(
        dateTime({
          description: 'End, exclusive, rounded up to a bucket. Default: now, including the current bucket.',
        }),
      ),
      bucketSize: Type.Optional(
        stringEnum(BUCKET_SIZES, {
          default: 'day',
          description: 'Bucket size. Buckets are in UTC; weeks start on Monday.',
        }),
      ),
      lastN: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_BUCKETS,
          description: 'Return the last N buckets, including the current one. Excludes `startTime` and `endTime`.',
        }),
      ),
      ...(resource && { [resource.idField]: Type.Optional(Type.String({ description: 'Only this resource.' })) }),
    }),
  );
}

export function billingReport({ name, resource, amounts }: ReportShape) {
  const usd = Object.fromEntries(amounts.map((field) => [field, Type.Number({ description: 'USD.' })]));
  const bucket = { startTime: dateTime(), endTime: dateTime({ description: 'Exclusive.' }) };
  const record = Type.Object({ ...bucket, ...(resource && { [resource.idField]: Type.String() }), ...usd });
  const query = Type.Object({
    ...bucket,
    bucketSize: stringEnum(BUCKET_SIZES),
    ...(resource && { [resource.idField]: nullableString({ description: 'The filter; null: none.' }) }),
  });
  const count = Type.Integer({ minimum: 0 });
  return Type.Unsafe<BillingReport>(
    Type.Object(
      {
        records: Type.Array(record, { description: 'Oldest first, without empty buckets.' }),
        metadata: Type.Object({
          query,
          recordCount: count,
          ...(resource && { [resource.countField]: count }),
          totals: Type.Object(usd),
        }),
      },
      { $id: name },
    ),
  );
}

export const BillingResponse = billingReport(TOTAL_REPORT);
export const PodBillingResponse = billingReport(POD_REPORT);
export const ServerlessBillingResponse = billingReport(SERVERLESS_REPORT);
export const EndpointBillingResponse = billingReport(ENDPOINT_REPORT);
export const NetworkVolumeBillingResponse = billingReport(NETWORK_VOLUME_REPORT);
export const ClusterBillingResponse = billingReport(CLUSTER_REPORT);

/** One day of one resource. The first amount is the total; the second makes up all of it. */
function billingExample({ resource, amounts }: ReportShape): object {
  const bucket = { startTime: '2026-11-19T00:00:00.000Z', endTime: '2026-11-20T00:00:00.000Z' };
  const usd = Object.fromEntries(amounts.map((amount, i) => [amount, i < 2 ? 1.25 : 0]));
  const named = resource && { [resource.idField]: ENDPOINT_ID };
  return {
    records: [{ ...bucket, ...named, ...usd }],
    metadata: {
      query: { ...bucket, bucketSize: 'day', ...(resource && { [resource.idField]: null }) },
      recordCount: 1,
      ...(resource && { [resource.countField]: 1 }),
      totals: usd,
    },
  };
}

export const BILLING_SCHEMAS: NamedSchemas = [
  [BillingResponse, billingExample(TOTAL_REPORT)],
  [PodBillingResponse, billingExample(POD_REPORT)],
  [ServerlessBillingResponse, billingExample(SERVERLESS_REPORT)],
  [EndpointBillingResponse, billingExample(ENDPOINT_REPORT)],
  [NetworkVolumeBillingResponse, billingExample(NETWORK_VOLUME_REPORT)],
  [ClusterBillingResponse, billingExample(CLUSTER_REPORT)],
];
