import type { Schemas } from '../../api/client.ts';
import type { Series } from '../../ui/charts/series.ts';
import { formatUsd } from '../../ui/text/format.ts';

export type Costs = Schemas['Costs'];
export type CostGroup = Costs['groups'][number];
export type CostBy = Costs['by'];

export const GROUPS: readonly { value: CostBy; label: string }[] = [
  { value: 'product', label: 'Product' },
  { value: 'endpoint', label: 'Endpoint' },
  { value: 'pod', label: 'Pod' },
  { value: 'cluster', label: 'Cluster' },
  { value: 'volume', label: 'Volume' },
  { value: 'user', label: 'User' },
];

export const RANGES = [
  { value: 'month', label: 'This month' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: '90d', label: 'Last 90 days' },
  { value: '365d', label: 'Last 365 days' },
] as const;
type RangeName = (typeof RANGES)[number]['value'];

/** The choices of the page, kept in its address. */
export interface CostView {
  by: CostBy;
  range: RangeName;
  /** All users, for admins. */
  isAll: boolean;
}

/** Reads a view from the address. What it does not know is the default. */
export function readView(params: URLSearchParams): CostView {
  const by = GROUPS.find(({ value }) => value === params.get('by'))?.value ?? 'product';
  const range = RANGES.find(({ value }) => value === params.get('range'))?.value ?? '30d';
  return { by, range, isAll: params.get('users') === 'all' };
}

/** Returns the query of a view: whole days in UTC. */
export function costQuery({ by, range, isAll }: CostView, now: Date) {
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString();
  return {
    by,
    ...(range === 'month' ? { startTime: month } : { lastN: Number.parseInt(range, 10) }),
    ...(isAll && { userId: 'all' }),
  };
}

const PRODUCTS: Readonly<Record<string, string>> = {
  SERVERLESS: 'Endpoints',
  POD: 'Pods',
  CLUSTER: 'Clusters',
  NETWORK_VOLUME: 'Volumes',
};

/** Returns what a group is called. */
export function groupName({ id, name }: Pick<CostGroup, 'id' | 'name'>): string {
  return name ?? PRODUCTS[id] ?? id;
}

const PAGES: Partial<Record<CostBy, string>> = { endpoint: '/endpoints', pod: '/pods', cluster: '/clusters' };

/** Returns the page of a group; undefined without one. Other users' records have none here. */
export function groupLink(
  by: CostBy,
  { id, isDeleted, userId }: CostGroup,
  ownId: string | undefined,
): string | undefined {
  const page = PAGES[by];
  return page === undefined || isDeleted || userId !== ownId ? undefined : `${page}/${id}`;
}

/** Without the colors that mean a state. */
const COLORS = ['teal', 'violet', 'ochre', 'blue', 'pink', 'brown'] as const;
const OTHER: Series = { name: 'other', label: 'Other', color: 'gray' };

/** Returns the series of the chart: the largest groups, and the rest if there is any. */
export function chartSeries({ groups, series, days }: Costs): Series[] {
  const nameOf = new Map(groups.map((group) => [group.id, groupName(group)]));
  const shown = series.map((id, i) => ({
    name: `s${i}`,
    label: nameOf.get(id) ?? id,
    color: COLORS[i % COLORS.length]!,
  }));
  return days.some(({ other }) => Number(other) > 0) ? [...shown, OTHER] : shown;
}

export type CostRow = { period: string } & Record<string, number | string>;

const DAY_MS = 86_400_000;

/** Returns a row for each day of the range, also for those without cost. */
export function chartRows({ startTime, endTime, series, days }: Costs): CostRow[] {
  const byDay = new Map(days.map((day) => [day.day, day]));
  const rows: CostRow[] = [];
  for (let ms = Date.parse(startTime); ms < Date.parse(endTime); ms += DAY_MS) {
    const date = new Date(ms);
    const day = byDay.get(date.toISOString().slice(0, 10));
    const period = date.toLocaleDateString(undefined, { timeZone: 'UTC', month: 'short', day: 'numeric' });
    const amounts = series.map((_, i) => [`s${i}`, Number(day?.amounts[i] ?? 0)] as const);
    rows.push({ period, ...Object.fromEntries(amounts), other: Number(day?.other ?? 0) });
  }
  return rows;
}

/** Returns a group's share of the total, in percent. */
export function shareOf(amount: string, total: string): number {
  return Number(total) === 0 ? 0 : (Number(amount) / Number(total)) * 100;
}

/** `about $63.50` with its range, or why there is none. */
export function forecastText({ forecast, low, high }: Schemas['CostForecast']): {
  value: string;
  range: string | null;
} {
  if (forecast === null) return { value: 'Too early', range: null };
  return { value: formatUsd(cents(forecast)), range: `${formatUsd(cents(low!))} to ${formatUsd(cents(high!))}` };
}

/** Rounds an amount for people to cents. */
export function cents(amount: string): number {
  return Math.round(Number(amount) * 100) / 100;
}
