import type { BudgetId } from '../../core/ids.ts';
import { deleteBudget } from '../../domain/budgets/change-budget.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { BudgetParams } from './budget-schemas.ts';

export const deleteBudgetRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/billing/budgets/:budgetId',
    {
      schema: {
        operationId: 'deleteBudget',
        summary: 'Delete a budget',
        description: 'Podyard only. What it stopped starts again.',
        tags: ['podyard'],
        params: BudgetParams,
        response: { 204: noContent('The budget was deleted.') },
      },
      config: { permission: PERMISSIONS.writeBilling, failures: ['notFound'] },
    },
    async ({ actor, params }, reply) => {
      await change(deps, actor, deleteBudget, { id: params.budgetId as BudgetId });
      return reply.code(204).send();
    },
  );
};
