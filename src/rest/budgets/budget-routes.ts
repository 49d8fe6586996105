import type { BudgetId, EndpointId } from '../../core/ids.ts';
import { createBudget, deleteBudget, listVisibleBudgets, updateBudget } from '../../domain/budgets/change-budget.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  BudgetList,
  BudgetParams,
  BudgetQuery,
  BudgetResponse,
  CreateBudgetRequest,
  UpdateBudgetRequest,
} from './budget-schemas.ts';

export const budgetRoutes: RestRoute = (app, deps) => {
  app.get('/v2/billing/budgets', {
    schema: {
      operationId: 'listBudgets',
      summary: 'List budgets',
      description: 'Podyard only. Returns budgets with what the month has cost so far.',
      tags: ['podyard'],
      querystring: BudgetQuery,
      response: { 200: ref(BudgetList) },
    },
    config: { permission: PERMISSIONS.readBilling, failures: ['unprocessable'] },
    handler: async ({ actor, query }) => ({ budgets: await listVisibleBudgets(deps.pool, actor, query.userId) }),
  });

  app.post('/v2/billing/budgets', {
    schema: {
      operationId: 'createBudget',
      summary: 'Set a budget',
      description:
        'Podyard only. What the month has cost already counts. A used-up budget that stops lets running jobs end, keeps ' +
        'the others queued, and starts no workers and pods; pods that run stay.',
      tags: ['podyard'],
      body: ref(CreateBudgetRequest),
      response: { 201: ref(BudgetResponse) },
    },
    config: { permission: PERMISSIONS.writeBilling, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, body }, reply) => {
      const endpointId = (body.endpointId ?? null) as EndpointId | null;
      return reply.code(201).send(await change(deps, actor, createBudget, { ...body, endpointId }));
    },
  });

  app.patch('/v2/billing/budgets/:budgetId', {
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
    handler: async ({ actor, params, body }) =>
      change(deps, actor, updateBudget, { id: params.budgetId as BudgetId, change: body }),
  });

  app.delete('/v2/billing/budgets/:budgetId', {
    schema: {
      operationId: 'deleteBudget',
      summary: 'Delete a budget',
      description: 'Podyard only. What it stopped starts again.',
      tags: ['podyard'],
      params: BudgetParams,
      response: { 204: noContent('The budget was deleted.') },
    },
    config: { permission: PERMISSIONS.writeBilling, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteBudget, { id: params.budgetId as BudgetId });
      return reply.code(204).send();
    },
  });
};
