import type { Schemas } from '../../api/client.ts';

export type BucketSize = 'hour' | 'day' | 'week' | 'month';
type BillingRecord = Schemas['Billing']['records'][number];

/** US dollars of one period. */
export interface BillingRow extends Record<string, number | string> {
  /** ISO start of the period. */
  startTime: string;
  period: string;
  serverless: number;
  pods: number;
  storage: number;
  total: number;
}

/** How many periods the page shows. */
export const PERIODS: Record<BucketSize, number> = { hour: 48, day: 30, week: 12, month: 12 };

/** Groups the amounts of a record by product. */
export function billingRow(record: BillingRecord, bucketSize: BucketSize): BillingRow {
  return {
    startTime: record.startTime,
    period: formatPeriod(record.startTime, bucketSize),
    serverless:
      record.serverlessGpuAmount +
      record.serverlessCpuAmount +
      record.serverlessDiskAmount +
      record.serverlessFeeAmount,
    pods: record.podGpuAmount + record.podCpuAmount + record.podDiskAmount,
    storage: record.storageStandardAmount + record.storageHighPerformanceAmount,
    total: record.totalAmount,
  };
}

export function sumOf(rows: readonly BillingRow[], product: 'serverless' | 'pods' | 'storage'): number {
  return rows.reduce((sum, row) => sum + row[product], 0);
}

/** Returns the label of a period. Hours are in local time; longer periods start at midnight UTC. */
function formatPeriod(startTime: string, bucketSize: BucketSize): string {
  return new Date(startTime).toLocaleString(undefined, {
    month: 'short',
    ...(bucketSize === 'month' ? { year: 'numeric' } : { day: 'numeric' }),
    ...(bucketSize === 'hour' ? { hour: '2-digit' } : { timeZone: 'UTC' }),
  });
}
