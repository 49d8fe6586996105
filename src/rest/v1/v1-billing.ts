import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import { BUCKET_SIZES } from '../../domain/billing/buckets.ts';
import { listUsageSums, type UsageQuery, type UsageSum } from '../../domain/billing/list-usage-sums.ts';
import { toBucketRange } from '../billing/billing-wire.ts';
import { PERMISSIONS } from '../shared/rest-app.ts';
import { byDefault, dateTime, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { anyOf, type V1Route } from './v1-route.ts';

const SHARED = {
  time: dateTime({ description: 'Start of the bucket.' }),
  amount: Type.Number({ description: 'USD.' }),
  diskSpaceBilledGb: Type.Integer({ description: 'The largest disk of each resource, added up.' }),
};

export const BillingRecord = Type.Object(
  {
    ...SHARED,
    timeBilledMs: Type.Integer({ description: 'How long GPUs or CPUs were held.' }),
    podId: Type.Optional(Type.String()),
    endpointId: Type.Optional(Type.String()),
    gpuTypeId: Type.Optional(Type.String({ description: 'Or the CPU flavor of a CPU pod.' })),
  },
  { $id: 'BillingRecord' },
);
export const BillingRecords = Type.Array(ref(BillingRecord), { $id: 'BillingRecords' });
export const NetworkVolumeBillingRecord = Type.Object(
  {
    ...SHARED,
    highPerformanceStorageAmount: Type.Number({ description: 'USD, part of `amount`.' }),
    highPerformanceStorageDiskSpaceBilledGb: Type.Integer(),
  },
  { $id: 'NetworkVolumeBillingRecord' },
);
export const NetworkVolumeBillingRecords = Type.Array(ref(NetworkVolumeBillingRecord), {
  $id: 'NetworkVolumeBillingRecords',
});

const PERIOD = {
  bucketSize: Type.Optional(byDefault(stringEnum(BUCKET_SIZES), 'day')),
  startTime: Type.Optional(dateTime({ description: 'Rounded down to a bucket. Default: 30 days before the end.' })),
  endTime: Type.Optional(dateTime({ description: 'Rounded up to a bucket. Default: now.' })),
};
const one = (description: string) => Type.Optional(Type.String({ description }));
const REFUSED = 'It is a 400: usage is metered by endpoint.';

const PodBillingQuery = Type.Object({
  ...PERIOD,
  grouping: Type.Optional(byDefault(stringEnum(['podId', 'gpuTypeId']), 'gpuTypeId')),
  podId: one('Only this pod.'),
  gpuTypeId: one('Only this GPU type.'),
});
const EndpointBillingQuery = Type.Object({
  ...PERIOD,
  grouping: Type.Optional(
    byDefault(stringEnum(['endpointId', 'podId', 'gpuTypeId'], { description: '`podId` is a 400.' }), 'endpointId'),
  ),
  endpointId: one('Only this endpoint.'),
  gpuTypeId: anyOf('Only this GPU type; more than one is a 400.'),
  dataCenterId: anyOf(REFUSED),
  imageName: one(REFUSED),
  templateId: one(REFUSED),
});

const tags = ['billing'];

export const billingRoutes: V1Route = (app, deps) => {
  const read = (query: Static<typeof NetworkVolumeQuery>, rest: Omit<UsageQuery, 'range'>) =>
    listUsageSums(deps.pool, { ...rest, range: toBucketRange(query, deps.clock.now()) });
  app.get('/v1/billing/pods', {
    schema: { operationId: 'PodBilling', tags, querystring: PodBillingQuery, response: { 200: ref(BillingRecords) } },
    config: { permission: PERMISSIONS.readBilling, failures: ['badRequest'] },
    handler: async ({ actor: { userId }, query }) => {
      const key = query.grouping ?? 'gpuTypeId';
      const groupBy = key === 'podId' ? 'resource' : 'item';
      const resourceId = query.podId ?? null;
      const item = query.gpuTypeId ?? null;
      const sums = await read(query, { userId, kind: 'POD', groupBy, resourceId, item });
      return sums.map((sum) => showSum(sum, key));
    },
  });
  app.get('/v1/billing/endpoints', {
    schema: {
      operationId: 'EndpointBilling',
      tags,
      querystring: EndpointBillingQuery,
      response: { 200: ref(BillingRecords) },
    },
    config: { permission: PERMISSIONS.readBilling, failures: ['badRequest'] },
    handler: async ({ actor: { userId }, query }) => {
      refuseUnknown(query);
      const key = query.grouping === 'gpuTypeId' ? 'gpuTypeId' : 'endpointId';
      const groupBy = key === 'endpointId' ? 'resource' : 'item';
      const resourceId = query.endpointId ?? null;
      const item = query.gpuTypeId?.[0] ?? null;
      const sums = await read(query, { userId, kind: 'SERVERLESS', groupBy, resourceId, item });
      return sums.map((sum) => showSum(sum, key));
    },
  });
  app.get('/v1/billing/networkvolumes', {
    schema: {
      operationId: 'NetworkVolumeBilling',
      tags,
      querystring: NetworkVolumeQuery,
      response: { 200: ref(NetworkVolumeBillingRecords) },
    },
    config: { permission: PERMISSIONS.readBilling, failures: ['badRequest'] },
    handler: async ({ actor: { userId }, query }) => {
      const kind = 'NETWORK_VOLUME';
      const sums = await read(query, { userId, kind, groupBy: 'nothing', resourceId: null, item: null });
      return sums.map((sum) => ({
        ...showAmount(sum),
        highPerformanceStorageAmount: round(sum.fastAmount),
        highPerformanceStorageDiskSpaceBilledGb: sum.fastDiskGb,
      }));
    },
  });
};

const NetworkVolumeQuery = Type.Object(PERIOD);

function refuseUnknown(query: Static<typeof EndpointBillingQuery>): void {
  const field = (['dataCenterId', 'imageName', 'templateId'] as const).find((name) => query[name] !== undefined);
  if (field) throw new Failure('badRequest', `${field}: usage is metered by endpoint: filter by endpointId`);
  if (query.grouping === 'podId') {
    throw new Failure('badRequest', 'grouping: usage is metered by endpoint, not by worker: group by endpointId');
  }
  if (query.gpuTypeId && query.gpuTypeId.length > 1) {
    throw new Failure('badRequest', 'gpuTypeId: only one GPU type can be filtered by');
  }
}

const showAmount = (sum: UsageSum) => ({
  time: sum.bucketAt.toISOString(),
  amount: round(sum.amount),
  diskSpaceBilledGb: sum.diskGb,
});

function showSum(sum: UsageSum, key: 'podId' | 'endpointId' | 'gpuTypeId'): Static<typeof BillingRecord> {
  return { ...showAmount(sum), timeBilledMs: Math.round(sum.seconds * 1000), [key]: sum.key };
}

/** To 1e-10 USD, so that sums carry no floating-point noise. */
function round(amount: number): number {
  return Math.round(amount * 1e10) / 1e10;
}
