import type { BudgetId, EndpointId, UserId } from '../../core/ids.ts';

/** Actions when a budget is used up: only notices, or no more workers and pods start. */
export const BUDGET_ACTIONS = ['NOTIFY', 'STOP'] as const;
type BudgetAction = (typeof BUDGET_ACTIONS)[number];

/** How much a user, or one of their endpoints, is to cost in a month (UTC). Amounts are exact decimal text, in USD. */
export interface Budget {
  id: BudgetId;
  userId: UserId;
  userName: string;
  /** Null: everything of the user. */
  endpointId: EndpointId | null;
  endpointName: string | null;
  /** Set by an admin for the user, who cannot change it. */
  isByAdmin: boolean;
  amount: string;
  action: BudgetAction;
  /** Percent of the amount at which a notice is given. */
  notifyAt: number[];
  webhook: string | null;
  /** The current one, as `2026-11`. */
  month: string;
  /** In this month, up to the last minute that was metered. */
  spent: string;
  isStopped: boolean;
  /** The thresholds that were passed this month. */
  passed: number[];
}
