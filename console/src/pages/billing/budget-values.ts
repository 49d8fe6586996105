import type { Schemas } from '../../api/client.ts';
import type { SummaryText } from '../../ui/forms/summary.tsx';
import { formatUsd } from '../../ui/text/format.ts';

export type Budget = Schemas['Budget'];

export interface BudgetForm {
  /** Empty: everything. */
  endpointId: string;
  amount: string;
  notifyAt: string;
  webhook: string;
  stops: boolean;
}

export function budgetForm(budget?: Budget): BudgetForm {
  return {
    endpointId: budget?.endpointId ?? '',
    amount: budget?.amount ?? '',
    notifyAt: (budget?.notifyAt ?? [80, 100]).join(', '),
    webhook: budget?.webhook ?? '',
    stops: budget?.action === 'STOP',
  };
}

/** Returns the settings of a form. Text that is not a number is passed on, so that the server says what is wrong with it. */
export function budgetBody({ amount, notifyAt, webhook, stops }: BudgetForm) {
  const percents = notifyAt.split(/[\s,;%]+/).filter((part) => part !== '');
  return {
    amount: amount.trim().replace(/^\$/, ''),
    action: stops ? ('STOP' as const) : ('NOTIFY' as const),
    notifyAt: percents.map(Number),
    webhook: webhook.trim() === '' ? null : webhook.trim(),
  };
}

/** Returns the dollars at which a budget notifies, and what happens when it is used up. */
export function budgetSummary(form: BudgetForm): SummaryText {
  const { amount, notifyAt, webhook, action } = budgetBody(form);
  const dollars = amount === '' ? Number.NaN : Number(amount);
  const steps = notifyAt.filter(Number.isFinite).sort((a, b) => a - b);
  const notices = steps.map((percent) =>
    Number.isFinite(dollars) ? formatUsd((dollars * percent) / 100) : `${percent} %`,
  );
  return {
    price: Number.isFinite(dollars) ? formatUsd(dollars) : null,
    priceNote: Number.isFinite(dollars) ? 'a month, from the first (UTC)' : 'Enter an amount',
    facts: [
      { label: 'Notifies', value: notices.length === 0 ? 'never' : `at ${notices.join(', ')}` },
      ...(webhook === null ? [] : [{ label: 'Also to', value: 'the webhook' }]),
      { label: 'Used up', value: action === 'STOP' ? 'nothing new starts until the next month' : 'nothing stops' },
    ],
  };
}

/** Returns the used share of a budget in percent, and its color. */
export function budgetUse({ amount, spent, passed, isStopped }: Budget): { percent: number; color: string } {
  const percent = Number(amount) === 0 ? 100 : (Number(spent) / Number(amount)) * 100;
  if (isStopped || percent >= 100) return { percent, color: 'red' };
  return { percent, color: passed.length > 0 ? 'orange' : 'blue' };
}

export function budgetName({ endpointId, endpointName }: Pick<Budget, 'endpointId' | 'endpointName'>): string {
  return endpointId === null ? 'Everything' : (endpointName ?? endpointId);
}

/** Returns the first day of the next month, for people. */
export function renewalDay(month: string): string {
  const [year, number] = month.split('-').map(Number);
  const next = new Date(Date.UTC(year!, number!));
  return next.toLocaleDateString(undefined, { timeZone: 'UTC', month: 'long', day: 'numeric' });
}

/** Returns the budgets with those first that stop, then those with the highest threshold passed. */
export function byUrgency(budgets: readonly Budget[]): Budget[] {
  return [...budgets].sort((a, b) => urgencyOf(b) - urgencyOf(a));
}

function urgencyOf({ isStopped, passed }: Budget): number {
  return isStopped ? Number.MAX_VALUE : Math.max(0, ...passed);
}

/** Returns the budget that concerns a user the most; undefined if none has passed a threshold. */
export function mostUrgent(budgets: readonly Budget[]): Budget | undefined {
  const [first] = byUrgency(budgets);
  return first && urgencyOf(first) > 0 ? first : undefined;
}
