import type { UserId } from '../../core/ids.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { planRemoval, requestRemoval } from '../../domain/users/request-removal.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { RemovalPlanResponse, RemovalQuery, UserAccountResponse } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const deleteUserRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/account/users/:id',
    {
      schema: {
        operationId: 'deleteUser',
        summary: 'Delete a user',
        description:
          'Podyard only, for admins. The user’s keys are refused at once. Everything they own is deleted in the background, or, ' +
          'with `handOverTo`, given to another user at once; then the user is deleted, and `getUser` responds with 404. Keys ' +
          'are not handed over. What was used stays in the books.',
        tags: ['podyard'],
        params: UserParams,
        querystring: RemovalQuery,
        response: { 202: ref(UserAccountResponse) },
      },
      config: { permission: PERMISSIONS.writeUsers, failures: ['notFound', 'conflict', 'unprocessable'] },
    },
    async ({ actor, params, query }, reply) => {
      const id = params.id as UserId;
      await checkOperator(deps.pool, actor.userId);
      const heirId = (query.handOverTo as UserId | undefined) ?? null;
      await change(deps, actor, requestRemoval, { id, heirId });
      deps.logger.warn({ userId: id, by: actor.userId, heirId }, 'user is to be deleted');
      return reply.code(202).send(renderUserAccount(await getUserAccount(deps.pool, id)));
    },
  );
};

export const planUserRemovalRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/users/:id/removal',
    {
      schema: {
        operationId: 'planUserRemoval',
        summary: 'Show what deleting a user would do',
        description: 'Podyard only, for admins. Changes nothing.',
        tags: ['podyard'],
        params: UserParams,
        querystring: RemovalQuery,
        response: { 200: ref(RemovalPlanResponse) },
      },
      config: { permission: PERMISSIONS.readUsers, failures: ['notFound', 'conflict', 'unprocessable'] },
    },
    async ({ actor, params, query }) => {
      await checkOperator(deps.pool, actor.userId);
      return planRemoval(deps.pool, params.id as UserId, (query.handOverTo as UserId | undefined) ?? null);
    },
  );
};
