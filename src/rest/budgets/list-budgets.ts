import { listVisibleBudgets } from '../../domain/budgets/change-budget.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { BudgetList, BudgetQuery } from './budget-schemas.ts';

export const listBudgetsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/billing/budgets',
    {
      schema: {
        operationId: 'listBudgets',
        summary: 'List budgets',
        description: 'Podyard only. Returns budgets with what the month has cost so far.',
        tags: ['podyard'],
        querystring: BudgetQuery,
        response: { 200: ref(BudgetList) },
      },
      config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    },
    async ({ actor, query }) => ({ budgets: await listVisibleBudgets(deps.pool, actor, query.userId) }),
  );
};
