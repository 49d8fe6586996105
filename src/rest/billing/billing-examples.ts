import { ENDPOINT_ID, type Examples } from '../shared/example-values.ts';
import { REPORTS, type ReportShape } from './billing-schemas.ts';

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

export const BILLING_EXAMPLES: Examples = Object.fromEntries(
  REPORTS.map((report) => [report.name, billingExample(report)]),
);
