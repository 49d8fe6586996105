import { didYouMean } from '../../core/closest.ts';
import { UsageError } from '../../core/usage-error.ts';
import { toCents } from '../../domain/billing/money.ts';
import { endpointIdOfUser, userIdOf } from '../access/find-user.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import type { Common } from '../shared/command-shape.ts';
import { type ConfirmOptions, confirmDeletion, requireConfirmable } from '../shared/confirm.ts';
import { findRecord } from '../shared/find-record.ts';
import { RECORDS, showRecords, type Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface BillingOptions {
  by: string;
  from?: string;
  to?: string;
  last?: number;
  csv?: boolean;
  user?: string;
}

export interface BudgetOptions {
  endpoint?: string;
  action?: string;
  notifyAt?: number[];
  webhook?: string;
  user?: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_LAST = 30;
const DAY = /^\d{4}-\d\d-\d\d$/;
const PERIODS = new Set(['hour', 'day', 'week', 'month', 'year']);
const NOTHING_BILLED = 'Nothing was billed in this period. `--last 90` or `--from 2026-01-01` looks further back.';
const NO_BUDGET = 'There is no budget. Set one, in US dollars a month: `podyard budgets set 250`.';
const BUDGETS = '/v2/billing/budgets';

/** Prints costs by period or group as a table, JSON or CSV. */
export async function showBilling(
  client: ApiClient,
  options: BillingOptions & Common,
  output: CommandOutput,
): Promise<void> {
  const { by, csv, json } = options;
  const isByPeriod = PERIODS.has(by);
  if (csv && json) throw new UsageError('--csv and --json are two formats: choose one');
  if (csv && isByPeriod && by !== 'day') throw new UsageError(`--csv has a line for each day: it cannot be --by ${by}`);
  if (isByPeriod && !csv && options.user !== undefined)
    throw new UsageError('--user needs --by product, endpoint, pod, volume or user');
  const query = periodOf(options);
  const user = await readUser(client, options.user);
  if (!isByPeriod) query.set('by', by);
  if (user !== undefined) query.set('userId', user);
  if (csv) return printCsv(client, query, output);
  if (isByPeriod) return showPeriods(client, by, query, options, output);
  const costs = await client.call<Wire>('GET', `/v2/billing/costs?${query}`);
  if (json) return output.print(jsonText(costs));
  showRecords(costs.groups, { columns: costColumns(costs, user), none: NOTHING_BILLED }, false, output);
  if (costs.otherCount > 0) output.note(`${costs.otherCount} more: ${toCents(costs.otherAmount)} USD.`);
  output.note(`Total: ${toCents(costs.total)} USD.`);
  await noteForecast(client, user, output);
}

/** Returns the id of `--user`, which takes a name too, and `all`. */
async function readUser(client: ApiClient, user: string | undefined): Promise<string | undefined> {
  return user === undefined || user === 'all' ? user : userIdOf(client, user);
}

/** `--to` is the last day, where the API takes the end. */
function periodOf({ from, to, last }: BillingOptions): URLSearchParams {
  if (last !== undefined && (from ?? to) !== undefined) throw new UsageError('--last excludes --from and --to');
  if (from === undefined && to === undefined) return new URLSearchParams({ lastN: String(last ?? DEFAULT_LAST) });
  return new URLSearchParams({
    ...(from !== undefined && { startTime: new Date(readDay('--from', from)).toISOString() }),
    ...(to !== undefined && { endTime: new Date(readDay('--to', to) + DAY_MS).toISOString() }),
  });
}

function readDay(option: string, text: string): number {
  const ms = DAY.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageError(`${option} is '${text}', but must be a day such as 2026-11-01`);
  return ms;
}

async function printCsv(client: ApiClient, query: URLSearchParams, { terminal }: CommandOutput): Promise<void> {
  const response = await client.send('GET', `/v2/billing/export?${query}`);
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(chunk);
}

async function showPeriods(
  client: ApiClient,
  by: string,
  query: URLSearchParams,
  { json }: Common,
  output: CliOutput,
): Promise<void> {
  query.set('bucketSize', by);
  const { records } = await client.call<{ records: Wire[] }>('GET', `/v2/billing?${query}`);
  showRecords(records, { columns: PERIOD_COLUMNS, none: NOTHING_BILLED }, json === true, output);
  if (!json) await noteForecast(client, undefined, output);
}

const sum =
  (...names: string[]) =>
  (r: Wire) =>
    names.reduce((all, name) => all + (r[name] ?? 0), 0).toFixed(4);

const PERIOD_COLUMNS: readonly Column<Wire>[] = [
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

function costColumns({ by, total }: Wire, user: string | undefined): readonly Column<Wire>[] {
  const whose: Column<Wire>[] =
    user === 'all' && by !== 'user' && by !== 'product' ? [['USER', (r) => r.userName]] : [];
  const what: Column<Wire>[] =
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
  const query = user === undefined ? '' : `?userId=${encodeURIComponent(user)}`;
  const { month, spent, forecast, low, high, method } = await client.call<Wire>('GET', `/v2/billing/forecast${query}`);
  const soFar = `${month}: ${toCents(spent)} USD so far`;
  if (forecast === null) return note(`${soFar}. ${method}`);
  note(`${soFar}, about ${toCents(forecast)} at its end (${toCents(low)} to ${toCents(high)}). ${method}`);
}

const BUDGET_COLUMNS: readonly Column<Wire>[] = [
  ['ID', (r) => r.id],
  ['OF', (r) => (r.endpointId === null ? 'account' : `endpoint ${r.endpointName ?? r.endpointId}`)],
  ['USER', (r) => r.userName],
  ['USD/MONTH', (r) => toCents(r.amount)],
  ['SPENT', (r) => toCents(r.spent)],
  ['USED', (r) => (Number(r.amount) === 0 ? '-' : `${((Number(r.spent) / Number(r.amount)) * 100).toFixed(1)} %`)],
  ['ACTION', (r) => r.action.toLowerCase()],
  ['NOTIFIES AT', (r) => r.notifyAt.map((percent: number) => `${percent} %`).join(', ') || '-'],
  ['SET BY', (r) => (r.isByAdmin ? 'administrator' : 'user')],
  ['STATE', (r) => (r.isStopped ? 'STOPPED: used up' : 'ok')],
];

async function readBudgets(client: ApiClient, user: string | undefined): Promise<Wire[]> {
  const query = user === undefined ? '' : `?userId=${encodeURIComponent(user)}`;
  return (await client.call<{ budgets: Wire[] }>('GET', BUDGETS + query)).budgets;
}

export async function listBudgets(
  client: ApiClient,
  { user, json }: BudgetOptions & Common,
  output: CliOutput,
): Promise<void> {
  showRecords(
    await readBudgets(client, await readUser(client, user)),
    { columns: BUDGET_COLUMNS, none: NO_BUDGET },
    json === true,
    output,
  );
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
    ...(action !== undefined && { action: action.toUpperCase() }),
    ...(notifyAt !== undefined && { notifyAt }),
    ...(webhook !== undefined && { webhook: webhook === 'none' ? null : webhook }),
  };
  const isForOther = user !== undefined;
  const existing = (await readBudgets(client, user)).find(
    (one) => one.endpointId === endpointId && one.isByAdmin === isForOther,
  );
  const budget = existing
    ? await client.call<Wire>('PATCH', `${BUDGETS}/${existing.id}`, settings)
    : await client.call<Wire>('POST', BUDGETS, { ...settings, endpointId, ...(isForOther && { userId: user }) });
  if (json) return output.print(jsonText(budget));
  output.print(formatTable(BUDGET_COLUMNS, [budget], output.screen));
}

async function endpointOf(client: ApiClient, user: string | undefined, endpoint: string): Promise<string> {
  if (user !== undefined) return endpointIdOfUser(client, user, endpoint);
  return (await findRecord(client, RECORDS.endpoints, endpoint)).id;
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
  await client.call('DELETE', `${BUDGETS}/${budget.id}`);
  output.note(`The budget of ${name} is removed.`);
}
