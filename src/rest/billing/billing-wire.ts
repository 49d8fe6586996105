import {
  type BucketRange,
  bucketStart,
  countBuckets,
  lastBuckets,
  snapToBuckets,
} from '../../domain/billing/buckets.ts';
import type { Charge } from '../../domain/billing/list-charges.ts';
import type { UsageComponent, UsageKind } from '../../domain/billing/usage.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import {
  type Amounts,
  type BillingQuery,
  type BillingReport,
  MAX_BUCKETS,
  type ReportShape,
} from './billing-schemas.ts';

/** Maps queries to buckets and charges to reports. */

const DEFAULT_SPAN_MS = 30 * 86_400_000;
/** RFC 3339 has four-digit years only; usage begins after 1970. */
const MIN_MS = 0;
const MAX_MS = Date.UTC(9000, 0);
/** Rounds to 1e-10 USD: a second of one GB of disk still counts, and sums carry no floating-point noise. */
const DECIMALS = 1e10;

/** Throws `unprocessable` for invalid times, too many buckets, or `lastN` together with a time. */
export function toBucketRange(query: BillingQuery, nowMs: number): BucketRange {
  const { bucketSize = 'day', lastN, startTime, endTime } = query;
  if (lastN !== undefined) {
    if (startTime === undefined && endTime === undefined) return lastBuckets(bucketSize, lastN, nowMs);
    throw validationFailure(['query/lastN: must not be combined with startTime or endTime']);
  }
  const endMs = endTime === undefined ? nowMs : Date.parse(endTime);
  const startMs = startTime === undefined ? Math.max(MIN_MS, endMs - DEFAULT_SPAN_MS) : Date.parse(startTime);
  const errors = [
    ...(startMs < MIN_MS || startMs > MAX_MS ? ['query/startTime: must be from 1970 to 9000'] : []),
    ...(endMs < MIN_MS || endMs > MAX_MS ? ['query/endTime: must be from 1970 to 9000'] : []),
  ];
  if (errors.length === 0 && startMs >= endMs) {
    const culprit = endTime === undefined ? 'startTime: must be before now' : 'endTime: must be after startTime';
    errors.push(`query/${culprit}`);
  }
  if (errors.length > 0) throw validationFailure(errors);
  const range = snapToBuckets(bucketSize, startMs, endMs);
  if (countBuckets(range) <= MAX_BUCKETS) return range;
  throw validationFailure([`query/bucketSize: must give at most ${MAX_BUCKETS} buckets from startTime to endTime`]);
}

/** Returns the amount field that a charge is added to. */
export type AmountField = (kind: UsageKind, component: UsageComponent) => string;

const STORAGE = { STANDARD: 'standard', HIGH_PERFORMANCE: 'highPerformance' } as const;

/** In reports on one kind of usage: `gpuAmount`, `standardAmount`. */
export const ownAmount: AmountField = (_kind, component) =>
  `${component in STORAGE ? STORAGE[component as keyof typeof STORAGE] : component.toLowerCase()}Amount`;

/** In the overall report: `serverlessGpuAmount`, `storageStandardAmount`. */
export const overallAmount: AmountField = (kind, component) => {
  const own = ownAmount(kind, component);
  const area = kind === 'NETWORK_VOLUME' ? 'storage' : kind.toLowerCase();
  return `${area}${own[0]!.toUpperCase()}${own.slice(1)}`;
};

/** `charges` must be ordered by bucket and resource. */
export function toBillingReport(
  shape: ReportShape,
  charges: readonly Charge[],
  range: BucketRange,
  filter: string | null,
  amountField: AmountField,
): BillingReport {
  const { resource } = shape;
  const noAmounts: Amounts = Object.fromEntries(shape.amounts.map((field) => [field, 0]));
  const byRecord = Map.groupBy(charges, (charge) => `${charge.bucketAt.getTime()} ${charge.resourceId}`);
  const totals = { ...noAmounts };
  const records = [...byRecord.values()].map((parts) => {
    const amounts = { ...noAmounts };
    for (const { kind, component, amount } of parts) add(amounts, amountField(kind, component), amount);
    for (const field of shape.amounts.slice(1)) add(amounts, 'totalAmount', amounts[field]!);
    for (const field of shape.amounts) add(totals, field, amounts[field]!);
    const { bucketAt, resourceId } = parts[0]!;
    const id = resource && { [resource.idField]: resourceId };
    return { ...timesOf(bucketAt.getTime(), bucketStart(range.size, bucketAt.getTime(), 1)), ...id, ...amounts };
  });
  const query = { ...timesOf(range.startMs, range.endMs), bucketSize: range.size };
  return {
    records,
    metadata: {
      query: { ...query, ...(resource && { [resource.idField]: filter }) },
      recordCount: records.length,
      ...(resource && { [resource.countField]: new Set(charges.map((charge) => charge.resourceId)).size }),
      totals,
    },
  };
}

function add(amounts: Amounts, field: string, amount: number): void {
  amounts[field] = Math.round((amounts[field]! + amount) * DECIMALS) / DECIMALS;
}

function timesOf(startMs: number, endMs: number): { startTime: string; endTime: string } {
  return { startTime: new Date(startMs).toISOString(), endTime: new Date(endMs).toISOString() };
}
