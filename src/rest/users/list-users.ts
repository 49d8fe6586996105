import { checkOperator } from '../../domain/access/check-operator.ts';
import { listUserPage, MAX_USERS } from '../../domain/users/list-users.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { UserAccountList, UserListQuery } from './user-schemas.ts';
import { renderUserAccount } from './user-wire.ts';

export const listUsersRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/users',
    {
      schema: {
        operationId: 'listUsers',
        summary: 'List users',
        description: 'Podyard only, for admins. Returns users, oldest first, with what each may have, and has.',
        tags: ['podyard'],
        querystring: UserListQuery,
        response: { 200: ref(UserAccountList) },
      },
      config: { permission: PERMISSIONS.readUserLimits, failures: ['unprocessable'] },
    },
    async ({ actor, query }) => {
      await checkOperator(deps.pool, actor.userId);
      const page = await listUserPage(deps.pool, { ...query, limit: query.limit ?? MAX_USERS });
      return { users: page.users.map(renderUserAccount), next: page.next };
    },
  );
};
