import { didYouMean } from '../../core/text/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { toCents } from '../../domain/billing/money.ts';
import { userIdOf } from '../access/server-side.ts';
import { present } from '../fields/field.ts';
import { findRecord, ID } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal, type Query, queryText } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { type Common, type ConfirmOptions, confirmDeletion, requireConfirmable } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export type Period = Schemas['Billing']['metadata']['query']['bucketSize'];
export type Group = Schemas['Costs']['by'];

export interface BillingOptions {
  by: Period | Group;
  from?: string;
  to?: string;
  last?: number;
  csv?: boolean;
  user?: string;
}

export interface BudgetOptions {
  endpoint?: string;
  action?: 'notify' | 'stop';
  notifyAt?: number[];
  webhook?: string;
  user?: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_LAST = 30;
const DAY = /^\d{4}-\d\d-\d\d$/;
const NOTHING_BILLED = 'Nothing was billed in this period. `--last 90` or `--from 2026-01-01` looks further back.';
const NO_BUDGET = 'No budgets. Set one, in US dollars a month: `podyard budgets set 250`.';

/** Prints costs by period or group as a table, JSON or CSV. */
export async function showBilling(
  client: ApiClient,
  options: BillingOptions & Common,
  output: CommandOutput,
): Promise<void> {
  const { by, csv, json } = options;
  const isByPeriod = isPeriod(by);
  if (csv && json) throw new UsageError('--csv and --json are two formats: choose one');
  if (csv && isByPeriod && by !== 'day') throw new UsageError(`--csv has a line for each day: it cannot be --by ${by}`);
  if (isByPeriod && !csv && options.user !== undefined)
    throw new UsageError('--user needs --by product, endpoint, pod, volume or user');
  const time = periodOf(options);
  const userId = await readUser(client, options.user);
  const ofUser = present({ userId });
  if (csv) return printCsv(client, { ...time, ...(isByPeriod ? {} : { by }), ...ofUser }, output);
  if (isByPeriod) return showPeriods(client, { ...time, bucketSize: by }, options, output);
  const costs = await client.call('get', '/v2/billing/costs', { query: { ...time, by, ...ofUser } });
  if (json) return output.print(jsonText(costs));
  showRecords(costs.groups, { columns: costColumns(costs, userId), none: NOTHING_BILLED }, false, output);
  if (costs.otherCount > 0) output.note(`${costs.otherCount} more: ${toCents(costs.otherAmount)} USD.`);
  output.note(`Total: ${toCents(costs.total)} USD.`);
  await noteForecast(client, userId, output);
}

function isPeriod(by: Period | Group): by is Period {
  return ['hour', 'day', 'week', 'month', 'year'].includes(by);
}

/** Returns the id of `--user`, which takes a name too, and `all`. */
async function readUser(client: ApiClient, user: string | undefined): Promise<string | undefined> {
  return user === undefined || user === 'all' ? user : userIdOf(client, user);
}

/** `--to` is the last day, where the API takes the end. */
function periodOf({ from, to, last }: BillingOptions): { lastN?: number; startTime?: string; endTime?: string } {
  if (last !== undefined && (from ?? to) !== undefined) throw new UsageError('--last excludes --from and --to');
  if (from === undefined && to === undefined) return { lastN: last ?? DEFAULT_LAST };
  return {
    ...(from !== undefined && { startTime: new Date(readDay('--from', from)).toISOString() }),
    ...(to !== undefined && { endTime: new Date(readDay('--to', to) + DAY_MS).toISOString() }),
  };
}

function readDay(option: string, text: string): number {
  const ms = DAY.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageError(`${option} is '${text}', but must be a day such as 2026-11-01`);
  return ms;
}

async function printCsv(client: ApiClient, query: Query, { terminal }: CommandOutput): Promise<void> {
  const response = await client.send('GET', `/v2/billing/export${queryText(query)}`);
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(chunk);
}

async function showPeriods(
  client: ApiClient,
  query: { bucketSize: Period; lastN?: number; startTime?: string; endTime?: string },
  { json }: Common,
  output: CliOutput,
): Promise<void> {
  const { records } = await client.call('get', '/v2/billing', { query });
  showRecords(records, { columns: PERIOD_COLUMNS, none: NOTHING_BILLED }, json, output);
  if (!json) await noteForecast(client, undefined, output);
}

type PeriodCosts = Schemas['Billing']['records'][number];
type Amount = Exclude<keyof PeriodCosts, 'startTime' | 'endTime'>;

const sum =
  (...names: Amount[]) =>
  (r: PeriodCosts) =>
    names.reduce((all, name) => all + (r[name] ?? 0), 0).toFixed(4);

const PERIOD_COLUMNS: readonly Column<PeriodCosts>[] = [
  ['FROM', (r) => r.startTime],
  ['ENDPOINTS', sum('serverlessGpuAmount', 'serverlessCpuAmount', 'serverlessDiskAmount', 'serverlessFeeAmount')],
  ['PODS', sum('podGpuAmount', 'podCpuAmount', 'podDiskAmount')],
  ['CLUSTERS', sum('clusterGpuAmount', 'clusterDiskAmount', 'clusterNetworkingAmount')],
  ['STORAGE', sum('storageStandardAmount', 'storageHighPerformanceAmount')],
  ['USD', sum('totalAmount')],
];

const PRODUCTS: Readonly<Record<string, string>> = {
  SERVERLESS: 'endpoints',
  POD: 'pods',
  CLUSTER: 'clusters',
  NETWORK_VOLUME: 'volumes',
};

const cost = (amount: string) => Number(amount).toFixed(4);

type CostGroup = Schemas['Costs']['groups'][number];

function costColumns({ by, total }: Schemas['Costs'], user: string | undefined): readonly Column<CostGroup>[] {
  const whose: Column<CostGroup>[] =
    user === 'all' && by !== 'user' && by !== 'product' ? [['USER', (r) => r.userName]] : [];
  const what: Column<CostGroup>[] =
    by === 'product'
      ? [['PRODUCT', (r) => PRODUCTS[r.id] ?? r.id]]
      : [
          ['ID', (r) => r.id],
          ['NAME', (r) => (r.isDeleted ? `${r.name ?? '-'} (deleted)` : r.name)],
        ];
  return [
    ...what,
    ...whose,
    ['GPU', (r) => cost(r.gpuAmount)],
    ['CPU', (r) => cost(r.cpuAmount)],
    ['STORAGE', (r) => cost(r.storageAmount)],
    ['USD', (r) => cost(r.amount)],
    ['SHARE', (r) => `${((Number(r.amount) / (Number(total) || 1)) * 100).toFixed(1)} %`],
  ];
}

async function noteForecast(client: ApiClient, user: string | undefined, { note }: CliOutput): Promise<void> {
  const query = present({ userId: user });
  const { month, spent, forecast, low, high, method } = await client.call('get', '/v2/billing/forecast', { query });
  const soFar = `${month}: ${toCents(spent)} USD so far`;
  if (forecast === null) return note(`${soFar}. ${method}`);
  note(`${soFar}, about ${toCents(forecast)} at its end (${toCents(low!)} to ${toCents(high!)}). ${method}`);
}

type Budget = Schemas['Budget'];

const BUDGET_COLUMNS: readonly Column<Budget>[] = [
  ['ID', (r) => r.id],
  ['OF', (r) => (r.endpointId === null ? 'account' : `endpoint ${r.endpointName ?? r.endpointId}`)],
  ['USER', (r) => r.userName],
  ['USD/MONTH', (r) => toCents(r.amount)],
  ['SPENT', (r) => toCents(r.spent)],
  ['USED', (r) => (Number(r.amount) === 0 ? '-' : `${((Number(r.spent) / Number(r.amount)) * 100).toFixed(1)} %`)],
  ['ACTION', (r) => r.action.toLowerCase()],
  ['NOTIFIES AT', (r) => r.notifyAt.map((percent) => `${percent} %`).join(', ') || '-'],
  ['SET BY', (r) => (r.isByAdmin ? 'admin' : 'user')],
  ['STATE', (r) => (r.isStopped ? 'STOPPED: used up' : 'ok')],
];

async function readBudgets(client: ApiClient, userId: string | undefined): Promise<Budget[]> {
  return (await client.call('get', '/v2/billing/budgets', { query: present({ userId }) })).budgets;
}

export async function listBudgets(
  client: ApiClient,
  { user, json }: BudgetOptions & Common,
  output: CliOutput,
): Promise<void> {
  const budgets = await readBudgets(client, await readUser(client, user));
  showRecords(budgets, { columns: BUDGET_COLUMNS, none: NO_BUDGET }, json, output);
}

/** Changes the budget that there is for the account or the endpoint, or sets the first one. */
export async function setBudget(
  client: ApiClient,
  usd: string,
  { endpoint, action, notifyAt, webhook, json, ...options }: BudgetOptions & Common,
  output: CliOutput,
): Promise<void> {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(usd)) {
    throw new UsageError(`'${usd}' is not an amount of US dollars, such as 250 or 12.50`);
  }
  const user = options.user === undefined ? undefined : await userIdOf(client, options.user);
  const endpointId = endpoint === undefined ? null : await endpointOf(client, user, endpoint);
  const settings = {
    amount: usd,
    ...present({
      action: action?.toUpperCase() as Budget['action'] | undefined,
      notifyAt,
      webhook: webhook === 'none' ? null : webhook,
    }),
  };
  const isForOther = user !== undefined;
  const existing = (await readBudgets(client, user)).find(
    (one) => one.endpointId === endpointId && one.isByAdmin === isForOther,
  );
  const ofUser = present({ userId: user });
  const budget = existing
    ? await client.call('patch', '/v2/billing/budgets/{budgetId}', { path: { budgetId: existing.id }, body: settings })
    : await client.call('post', '/v2/billing/budgets', { body: { ...settings, endpointId, ...ofUser } });
  if (json) return output.print(jsonText(budget));
  output.print(formatTable(BUDGET_COLUMNS, [budget], output.screen));
}

/** Finds an endpoint. Another user's endpoints only the costs name: those are found by id, or by a name that has cost something. */
async function endpointOf(client: ApiClient, userId: string | undefined, idOrName: string): Promise<string> {
  if (userId === undefined) return (await findRecord(client, RECORDS.endpoints, idOrName)).id;
  if (ID.test(idOrName)) return idOrName;
  const query = { by: 'endpoint', userId, lastN: 30 } as const;
  const { groups } = await client.call('get', '/v2/billing/costs', { query });
  const named = groups.filter(({ name, isDeleted }) => name === idOrName && !isDeleted);
  if (named.length === 1) return named[0]!.id;
  throw new ApiRefusal(404, `this user has no endpoint named '${idOrName}' with costs: use its id`);
}

export async function removeBudget(
  client: ApiClient,
  which: string,
  options: BudgetOptions & Common & ConfirmOptions,
  output: CommandOutput,
): Promise<void> {
  requireConfirmable(output, options);
  const budgets = await readBudgets(client, await readUser(client, options.user));
  const found = budgets.filter(
    ({ id, endpointId, endpointName }) =>
      which === id || (endpointId === null ? which === 'account' : which === endpointId || which === endpointName),
  );
  const budget = found.find(({ isByAdmin }) => isByAdmin === (options.user !== undefined)) ?? found[0];
  if (!budget) {
    const names = budgets.flatMap(({ id, endpointName }) => [id, endpointName ?? 'account']);
    const meant = didYouMean(which, names);
    throw new ApiRefusal(404, `there is no budget of '${which}'; \`podyard budgets list\` shows all${meant}`);
  }
  const name = budget.endpointId === null ? 'account' : (budget.endpointName ?? budget.endpointId);
  await confirmDeletion(output, { what: `the budget of ${name}`, name, id: budget.id }, options);
  await client.call('delete', '/v2/billing/budgets/{budgetId}', { path: { budgetId: budget.id } });
  output.note(`The budget of ${name} is removed.`);
}
