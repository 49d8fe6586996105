import { BUDGET_ACTIONS } from '../../domain/budgets/budget.ts';
import { DEFAULT_NOTIFY_AT } from '../../domain/budgets/change-budget.ts';
import { usd, whose } from '../billing/cost-schemas.ts';
import { type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { byDefault, closed, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_THRESHOLDS = 10;
const MAX_PERCENT = 1_000;
const MAX_URL = 2_048;

const percents = (description: string) =>
  Type.Array(Type.Integer({ minimum: 1, maximum: MAX_PERCENT }), { description });
const NOTIFY_AT = 'Percent of the amount at which a notice is given, each once a month.';
const WEBHOOK = 'Where notices are sent. Null: nowhere; they are shown and logged all the same.';
const ACTION = 'When it is used up: NOTIFY, or STOP starting workers and pods.';

export const BudgetResponse = Type.Object(
  {
    id: Type.String(),
    userId: Type.String(),
    userName: Type.String(),
    endpointId: nullableString({ description: 'Null: everything of the user.' }),
    endpointName: nullableString(),
    isByAdmin: Type.Boolean({ description: 'Set by an admin, who alone can change it.' }),
    amount: usd('A month.'),
    action: stringEnum(BUDGET_ACTIONS, { description: ACTION }),
    notifyAt: percents(NOTIFY_AT),
    webhook: nullableString({ description: WEBHOOK }),
    month: Type.String({ description: 'The current one (UTC), such as `2026-11`.' }),
    spent: usd('This month, up to the last metered minute.'),
    isStopped: Type.Boolean({ description: 'It is used up, and nothing is started.' }),
    passed: percents('Thresholds that were passed this month.'),
  },
  { $id: 'Budget', description: 'Podyard only: what a user or an endpoint is to cost in a month.' },
);

export const BudgetList = Type.Object(
  { budgets: Type.Array(ref(BudgetResponse), { description: 'Those of whole users first, then by endpoint.' }) },
  { $id: 'BudgetList', description: 'Podyard only: budgets, 1,000 at most.' },
);

const amount = Type.String({
  pattern: '^\\d{1,9}(\\.\\d{1,6})?$',
  description: 'USD a month, such as `"250"` or `"12.50"`.',
});
const notifyAt = Type.Array(Type.Integer({ minimum: 1, maximum: MAX_PERCENT }), {
  maxItems: MAX_THRESHOLDS,
  description: NOTIFY_AT,
});
const webhook = Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: MAX_URL, description: WEBHOOK });
const action = stringEnum(BUDGET_ACTIONS, { description: ACTION });

export const CreateBudgetRequest = closed(
  {
    amount,
    endpointId: Type.Optional(nullableString({ description: 'Absent or null: everything of the user.' })),
    userId: Type.Optional(
      Type.String({
        description: 'For admins: whose. A budget that is set for another user cannot be changed by them.',
      }),
    ),
    action: Type.Optional(byDefault(action, 'NOTIFY')),
    notifyAt: Type.Optional(byDefault(notifyAt, DEFAULT_NOTIFY_AT)),
    webhook: Type.Optional(byDefault(webhook, null)),
  },
  { $id: 'CreateBudgetRequest', description: 'Podyard only: a new budget.' },
);

export const UpdateBudgetRequest = closed(
  {
    amount: Type.Optional(amount),
    action: Type.Optional(action),
    notifyAt: Type.Optional(notifyAt),
    webhook: Type.Optional(webhook),
  },
  { $id: 'UpdateBudgetRequest', description: 'Podyard only: changes of a budget. Absent: unchanged.' },
);

export const BudgetQuery = Type.Object({ userId: whose });
export const BudgetParams = Type.Object({ budgetId: Type.String({ description: 'Budget identifier.' }) });

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

export const BUDGET_SCHEMAS: NamedSchemas = [
  [BudgetResponse, budget],
  [BudgetList, { budgets: [budget] }],
  [CreateBudgetRequest, { amount: '250', action: 'STOP', notifyAt: [80, 100], webhook: 'https://example.com/budget' }],
  [UpdateBudgetRequest, { amount: '400' }],
];
