import { type Examples, USER_ID } from '../shared/example-values.ts';

const budget = {
  id: 'b4n8x1q6w3e9rt',
  userId: USER_ID,
  userName: 'alice',
  endpointId: null,
  endpointName: null,
  isByAdmin: false,
  amount: '250',
  action: 'STOP',
  notifyAt: [80, 100],
  webhook: 'https://example.com/budget',
  month: '2026-11',
  spent: '212.40713',
  isStopped: false,
  passed: [80],
};

export const BUDGET_EXAMPLES: Examples = {
  Budget: budget,
  BudgetList: { budgets: [budget] },
  CreateBudgetRequest: { amount: '250', action: 'STOP', notifyAt: [80, 100], webhook: 'https://example.com/budget' },
  UpdateBudgetRequest: { amount: '400' },
};
