/** Which thresholds of a budget were passed. Pure. */
import { toUnits } from '../billing/money.ts';
import type { Budget } from './budget.ts';

export type NoticeFacts = Pick<Budget, 'amount' | 'spent' | 'action' | 'notifyAt' | 'passed'>;

/** The end of a budget that stops is always a threshold. */
export const USED_UP = 100;

export interface Notices {
  /** Passed and not recorded yet, the lowest first. */
  passed: number[];
  /** The one to report: of several that are passed at once, the highest. Null: none. */
  report: number | null;
}

/** Returns the thresholds that were passed since the last look. Carried out twice, the second time there are none. */
export function decideNotices({ amount, spent, action, notifyAt, passed }: NoticeFacts): Notices {
  const thresholds = new Set([...notifyAt, ...(action === 'STOP' ? [USED_UP] : [])]);
  const found = [...thresholds]
    .filter((percent) => !passed.includes(percent) && isPassed(percent, amount, spent))
    .sort((a, b) => a - b);
  return { passed: found, report: found.at(-1) ?? null };
}

/** True when so many percent of the amount are spent. Exact: nothing is divided. */
export function isPassed(percent: number, amount: string, spent: string): boolean {
  return toUnits(spent) * 100n >= toUnits(amount) * BigInt(percent);
}
