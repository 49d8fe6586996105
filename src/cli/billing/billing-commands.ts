import { type Command, Option } from 'commander';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { addCommon, addConfirm, type Common, type ConfirmOptions, connect } from '../shared/command-shape.ts';
import { parsePositive } from '../shared/options.ts';
import type { BillingOptions, BudgetOptions, Group, Period } from './show-billing.ts';

const PERIODS: readonly Period[] = ['hour', 'day', 'week', 'month', 'year'];
const GROUPS: readonly Group[] = ['product', 'endpoint', 'pod', 'cluster', 'volume', 'user'];

const load = () => import('./show-billing.ts');

export function addBilling(program: Command, pieces: CliPieces): void {
  addCommon(program.command('billing'))
    .description('show what things cost, at catalog prices, and what the month will cost')
    .addOption(
      new Option('--by <what>', 'by period, or what to add up').choices([...PERIODS, ...GROUPS]).default('day'),
    )
    .option('--from <day>', 'first day (UTC), such as 2026-11-01')
    .option('--to <day>', 'last day (UTC)')
    .option('--last <number>', 'so many of the last days, or other periods (default: 30)', parsePositive)
    .option('--csv', 'print a line for each day and resource as CSV, of the kind that --by names')
    .option('--user <name>', "another user's, by name or id, for admins; all: everybody's")
    .action(async (options: Common & BillingOptions) => {
      const { showBilling } = await load();
      await showBilling(await connect(pieces, options), options, pieces);
    });
}

export function addBudgets(program: Command, pieces: CliPieces): void {
  const budgets = program.command('budgets').description('how much a month may cost, and what happens then');
  addCommon(budgets.command('list', { isDefault: true }))
    .description('list budgets with what was spent this month')
    .option('--user <name>', "another user's, by name or id, for admins; all: everybody's")
    .action(async (options: Common & BudgetOptions) => {
      const { listBudgets } = await load();
      await listBudgets(await connect(pieces, options), options, pieces);
    });
  addCommon(budgets.command('set'))
    .description('set or change the budget of your account, or of one endpoint')
    .argument('<usd>', 'US dollars a month, such as 250 or 12.50')
    .option('--endpoint <endpoint>', 'of this endpoint, by id or name, instead of everything')
    .addOption(
      new Option('--action <what>', 'when it is used up: only notify, or start no more workers and pods').choices([
        'notify',
        'stop',
      ]),
    )
    .option('--notify-at <percent...>', 'notify at these percentages (default: 80 100)', parsePercents)
    .option('--webhook <url>', 'POST notices there; none: nowhere')
    .option('--user <name>', 'for this user, by name or id, for admins: the user cannot change it')
    .action(async (usd: string, options: Common & BudgetOptions) => {
      const { setBudget } = await load();
      await setBudget(await connect(pieces, options), usd, options, pieces);
    });
  addConfirm(addCommon(budgets.command('remove')))
    .description('remove a budget; what it stopped starts again')
    .argument('<which>', "an endpoint by id or name, or 'account'; or the budget's id")
    .option('--user <name>', "another user's, by name or id, for admins")
    .action(async (which: string, options: Common & BudgetOptions & ConfirmOptions) => {
      const { removeBudget } = await load();
      await removeBudget(await connect(pieces, options), which, options, pieces);
    });
}

function parsePercents(text: string, before: number[] | undefined): number[] {
  return [...(before ?? []), ...text.split(',').map((one) => parsePositive(one.replace(/%$/, '')))];
}
