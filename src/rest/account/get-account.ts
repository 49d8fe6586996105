import { notFound } from '../../core/errors.ts';
import { findUser } from '../../domain/access/users.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { AccountResponse } from './account-schemas.ts';

export const getAccountRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account',
    {
      schema: {
        operationId: 'getAccount',
        summary: 'Get the account',
        tags: ['podyard'],
        response: { 200: ref(AccountResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
    },
    async (request) => {
      const user = await findUser(deps.pool, request.actor.userId);
      if (!user) throw notFound('Account');
      const { id, name, email, role, createdAt } = user;
      return { id, name, email, createdAt: createdAt.toISOString(), role };
    },
  );
};
