import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { BucketRange } from './buckets.ts';
import type { CostScope } from './cost-scope.ts';
import { amountSql } from './money.ts';
import type { UsageKind } from './usage.ts';

/** Groupings of costs, with the kind of resources that each covers; null: all kinds. */
export const COST_GROUPS = {
  product: null,
  endpoint: 'SERVERLESS',
  pod: 'POD',
  cluster: 'CLUSTER',
  volume: 'NETWORK_VOLUME',
  user: null,
} as const satisfies Record<string, UsageKind | null>;
export type CostGroupBy = keyof typeof COST_GROUPS;

export const MAX_GROUPS = 1_000;
export const DEFAULT_GROUPS = 100;
/** The number of largest groups that are split by day. */
const SERIES = 6;

export interface CostQuery {
  scope: CostScope;
  by: CostGroupBy;
  /** Whole UTC days. */
  range: Pick<BucketRange, 'startMs' | 'endMs'>;
  limit: number;
}

/** The cost of one resource, product or user. Amounts are exact decimal text, in USD. */
interface CostGroup {
  /** The resource, the user or, by product, the kind of resources. */
  id: string;
  /** Null: not known any more, or by product. */
  name: string | null;
  userId: UserId | null;
  userName: string | null;
  /** It does not exist any more. */
  isDeleted: boolean;
  amount: string;
  gpuAmount: string;
  cpuAmount: string;
  storageAmount: string;
  gpuSeconds: number;
}

/** The cost of a UTC day; `amounts` are those of `series`, in its order, and `other` is the rest. */
interface CostDay {
  day: string;
  amount: string;
  amounts: string[];
  other: string;
}

export interface Costs {
  total: string;
  /** The largest first. */
  groups: CostGroup[];
  /** Groups beyond the limit. */
  otherCount: number;
  otherAmount: string;
  /** Ids of the largest groups. */
  series: string[];
  /** Oldest first, without days that cost nothing. */
  days: CostDay[];
}

const TOTAL = 'gpu_amount + cpu_amount + storage_amount';
const KEYS: Record<CostGroupBy, string> = {
  product: 'kind',
  endpoint: 'resource_id',
  pod: 'resource_id',
  cluster: 'resource_id',
  volume: 'resource_id',
  user: 'user_id',
};
const TABLES: Partial<Record<CostGroupBy, string>> = {
  endpoint: 'endpoints',
  pod: '(select id, name from pods where gone_at is null)', // a row is kept for its log
  cluster: 'clusters',
  volume: 'network_volumes',
};

/** The rows of a query: $1 whose (null: everybody's), $2 and $3 the days, $4 the kind. Served by the primary key. */
function rowsSql(scope: CostScope): string {
  return `usage_days where ${scope === null ? '$1::text is null' : 'user_id = $1'} and day >= $2 and day < $3
    and ($4::text is null or kind = $4)`;
}

function valuesOf({ scope, by, range }: Pick<CostQuery, 'scope' | 'by' | 'range'>): unknown[] {
  return [scope, dayOf(range.startMs), dayOf(range.endMs), COST_GROUPS[by]];
}

/** Returns the UTC day of a time, as `2026-11-30`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns what resources, products or users cost, in all and by day. The parts add up to the total exactly. */
export async function readCosts(db: Db, query: CostQuery): Promise<Costs> {
  const found = await readGroups(db, query);
  const [first] = found;
  const groups = found.map(({ total: _, count: __, other: ___, ...group }) => group);
  const series = groups.slice(0, SERIES).map(({ id }) => id);
  return {
    total: first?.total ?? '0',
    groups,
    otherCount: first === undefined ? 0 : first.count - groups.length,
    otherAmount: first?.other ?? '0',
    series,
    days: first === undefined ? [] : await readDays(db, query, series),
  };
}

type GroupRow = CostGroup & { total: string; count: number; other: string };

async function readGroups(db: Db, query: CostQuery): Promise<GroupRow[]> {
  const { scope, by, limit } = query;
  const table = TABLES[by];
  const hasOwner = by !== 'product';
  const { rows } = await db.query<GroupRow>(
    `with parts as (
       select ${KEYS[by]} as id, ${hasOwner ? 'min(user_id)' : 'null::text'} as user_id, max(name) as name,
              sum(${TOTAL}) as amount, sum(gpu_amount) as gpu, sum(cpu_amount) as cpu, sum(storage_amount) as storage,
              sum(gpu_seconds) as gpu_seconds
       from ${rowsSql(scope)} group by 1
     ), largest as (
       select p.*, sum(amount) over () as total, count(*) over () as count,
              sum(amount) over () - sum(amount) over (order by amount desc, id rows unbounded preceding) as after
       from parts p order by amount desc, id limit $5
     )
     select g.id, ${by === 'user' ? 'u.name' : by === 'product' ? 'null' : 'coalesce(r.name, g.name)'} as name,
            g.user_id as "userId", u.name as "userName",
            ${table ? 'r.id is null' : by === 'user' ? 'u.id is null' : 'false'} as "isDeleted",
            ${amountSql('g.amount')} as amount, ${amountSql('g.gpu')} as "gpuAmount", ${amountSql('g.cpu')} as "cpuAmount",
            ${amountSql('g.storage')} as "storageAmount", g.gpu_seconds::float8 as "gpuSeconds",
            ${amountSql('g.total')} as total, g.count, ${amountSql('min(g.after) over ()')} as other
     from largest g left join users u on u.id = g.user_id
     ${table ? `left join ${table} r on r.id = g.id` : ''}
     order by g.amount desc, g.id`,
    [...valuesOf(query), limit],
  );
  return rows;
}

async function readDays(db: Db, query: CostQuery, series: readonly string[]): Promise<CostDay[]> {
  const key = KEYS[query.by];
  const { rows } = await db.query<CostDay>(
    `with parts as (
       select day, array_position($5::text[], ${key}) as place, sum(${TOTAL}) as amount
       from ${rowsSql(query.scope)} group by 1, 2
     )
     select d.day::text as day, ${amountSql('d.amount')} as amount,
            array(select ${amountSql('p.amount')} from unnest($5::text[]) with ordinality s (id, place)
                  left join parts p on p.day = d.day and p.place = s.place order by s.place) as amounts,
            ${amountSql('(select p.amount from parts p where p.day = d.day and p.place is null)')} as other
     from (select day, sum(amount) as amount from parts group by 1) d order by 1`,
    [...valuesOf(query), series],
  );
  return rows;
}
