import type { TUnsafe } from 'typebox';
import { COST_GROUPS, type CostGroupBy, DEFAULT_GROUPS, MAX_GROUPS } from '../../domain/billing/read-costs.ts';
import { ENDPOINT_ID, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { byDefault, dateTime, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { MAX_BUCKETS } from './billing-schemas.ts';

/** An exact amount: decimal text, as JSON numbers would round it. */
export function usd(description: string): TUnsafe<string> {
  return Type.Unsafe<string>({
    type: 'string',
    pattern: '^\\d+(\\.\\d+)?$',
    description: `${description} USD, exact.`,
  });
}

function nullableUsd(description: string): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    pattern: '^\\d+(\\.\\d+)?$',
    description: `${description} USD, exact.`,
  });
}

export const whose = Type.Optional(
  Type.String({ description: 'Whose costs: absent yours; for admins also a user’s id, or `all`.' }),
);

const by = Object.keys(COST_GROUPS) as CostGroupBy[];

const PERIOD = {
  by: Type.Optional(
    byDefault(
      stringEnum(by, { description: 'What to group by. One kind of resource leaves the others out.' }),
      'product',
    ),
  ),
  startTime: Type.Optional(
    dateTime({ description: 'Start, rounded down to a day (UTC). Default: 30 days before the end.' }),
  ),
  endTime: Type.Optional(dateTime({ description: 'End, exclusive, rounded up to a day. Default: now.' })),
  lastN: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_BUCKETS,
      description: 'The last N days, today included. Excludes `startTime` and `endTime`.',
    }),
  ),
  userId: whose,
};

export const CostQuery = Type.Object({
  ...PERIOD,
  limit: Type.Optional(
    byDefault(
      Type.Integer({ minimum: 1, maximum: MAX_GROUPS, description: 'The largest groups to return.' }),
      DEFAULT_GROUPS,
    ),
  ),
});

export const CostExportQuery = Type.Object(PERIOD);

export const ForecastQuery = Type.Object({ userId: whose });

const CostGroupResponse = Type.Object({
  id: Type.String({ description: 'Of the resource or user; by `product` the kind: SERVERLESS, POD, CLUSTER, …' }),
  name: nullableString({ description: 'Of a deleted resource, its last one. Null: not known, or by `product`.' }),
  userId: nullableString({ description: 'The owner; null by `product`.' }),
  userName: nullableString(),
  isDeleted: Type.Boolean(),
  amount: usd('All of it.'),
  gpuAmount: usd('For GPUs.'),
  cpuAmount: usd('For CPUs.'),
  storageAmount: usd('For disks and volumes.'),
  gpuSeconds: Type.Number({ minimum: 0, description: 'GPUs times seconds.' }),
});

export const CostsResponse = Type.Object(
  {
    by: stringEnum(by),
    startTime: dateTime(),
    endTime: dateTime({ description: 'Exclusive.' }),
    total: usd('All groups.'),
    groups: Type.Array(CostGroupResponse, { description: 'The largest first.' }),
    otherCount: Type.Integer({ minimum: 0, description: 'Groups beyond `limit`.' }),
    otherAmount: usd('Groups beyond `limit`.'),
    series: Type.Array(Type.String(), { description: 'Ids of the groups that `days` tell apart: the largest ones.' }),
    days: Type.Array(
      Type.Object({
        day: Type.String({ description: 'UTC, such as `2026-11-30`.' }),
        amount: usd('All groups.'),
        amounts: Type.Array(Type.String(), { description: 'Those of `series`, in its order. USD, exact.' }),
        other: usd('The other groups.'),
      }),
      { description: 'Oldest first, without days that cost nothing.' },
    ),
  },
  {
    $id: 'Costs',
    description:
      'Podyard only: what resources, products or users cost. The groups and `otherAmount`, and the days, add up to `total` exactly.',
  },
);

export const ForecastResponse = Type.Object(
  {
    month: Type.String({ description: 'UTC, such as `2026-11`.' }),
    startTime: dateTime(),
    endTime: dateTime({ description: 'Exclusive.' }),
    spent: usd('So far.'),
    forecast: nullableUsd('The whole month; null with too few days.'),
    low: nullableUsd('If each day left costs as little as the cheapest of the days.'),
    high: nullableUsd('If each day left costs as much as the most expensive of the days.'),
    basedOnDays: Type.Integer({ minimum: 0, description: 'How many days the average is of.' }),
    method: Type.String({ description: 'How it is computed, or why it is not: for people.' }),
  },
  { $id: 'CostForecast', description: 'Podyard only: what the current month will cost.' },
);

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

export const COST_SCHEMAS: NamedSchemas = [
  [
    CostsResponse,
    {
      by: 'endpoint',
      ...month,
      total: '0.69274',
      groups: [cost],
      otherCount: 0,
      otherAmount: '0',
      series: [ENDPOINT_ID],
      days: [{ day: '2026-11-19', amount: '0.69274', amounts: ['0.69274'], other: '0' }],
    },
  ],
  [
    ForecastResponse,
    {
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
  ],
];
