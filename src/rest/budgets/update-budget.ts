import type { BudgetId } from '../../core/ids.ts';
import { updateBudget } from '../../domain/budgets/change-budget.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { BudgetParams, BudgetResponse, UpdateBudgetRequest } from './budget-schemas.ts';

export const updateBudgetRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/billing/budgets/:budgetId',
    {
      schema: {
        operationId: 'updateBudget',
        summary: 'Change a budget',
        description:
          'Podyard only. Effective at once: what a budget stopped starts again if the new amount is not used up.',
        tags: ['podyard'],
        params: BudgetParams,
        body: ref(UpdateBudgetRequest),
        response: { 200: ref(BudgetResponse) },
      },
      config: { permission: PERMISSIONS.writeBilling, failures: ['notFound'] },
    },
    async ({ actor, params, body }) =>
      change(deps, actor, updateBudget, { id: params.budgetId as BudgetId, change: body }),
  );
};
