import { ENDPOINT_ID, type Examples, USER_ID } from '../shared/example-values.ts';
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

const cost = {
  id: ENDPOINT_ID,
  name: 'transcriber',
  userId: USER_ID,
  userName: 'alice',
  isDeleted: false,
  amount: '0.69274',
  gpuAmount: '0.69',
  cpuAmount: '0',
  storageAmount: '0.00274',
  gpuSeconds: 3600,
};

const month = { startTime: '2026-11-01T00:00:00.000Z', endTime: '2026-12-01T00:00:00.000Z' };

export const BILLING_EXAMPLES: Examples = {
  ...Object.fromEntries(REPORTS.map((report) => [report.name, billingExample(report)])),
  Costs: {
    by: 'endpoint',
    ...month,
    total: '0.69274',
    groups: [cost],
    otherCount: 0,
    otherAmount: '0',
    series: [ENDPOINT_ID],
    days: [{ day: '2026-11-19', amount: '0.69274', amounts: ['0.69274'], other: '0' }],
  },
  CostForecast: {
    month: '2026-11',
    ...month,
    spent: '41.2',
    forecast: '63.5',
    low: '55.1',
    high: '80',
    basedOnDays: 7,
    method:
      'What was spent so far, plus the average of the last 7 full days (UTC) for each day that is left. The range takes the cheapest and the most expensive of these days instead.',
  },
};
