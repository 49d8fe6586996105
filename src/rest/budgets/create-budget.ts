import type { EndpointId } from '../../core/ids.ts';
import { createBudget } from '../../domain/budgets/change-budget.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { BudgetResponse, CreateBudgetRequest } from './budget-schemas.ts';

export const createBudgetRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/billing/budgets',
    {
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
    },
    async ({ actor, body }, reply) => {
      const endpointId = (body.endpointId ?? null) as EndpointId | null;
      return reply.code(201).send(await change(deps, actor, createBudget, { ...body, endpointId }));
    },
  );
};
