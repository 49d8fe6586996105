import { checkOperator } from '../../domain/access/check-operator.ts';
import { getOwnKey } from '../../domain/access/key-store.ts';
import { change } from '../../domain/change.ts';
import { createUserWithKey } from '../../domain/users/create-user.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { toApiKeyResponse } from '../account/api-key-wire.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreatedUserResponse, CreateUserRequest } from './user-schemas.ts';
import { renderUserAccount, toNewUser } from './user-wire.ts';

export const createUserRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/account/users',
    {
      schema: {
        operationId: 'createUser',
        summary: 'Create a user',
        description:
          'Podyard only, for admins. Returns the user’s first key, whose secret is shown only once. The key cannot grant ' +
          'more than the key that creates it; only a key with the scope `all` makes an admin.',
        tags: ['podyard'],
        body: ref(CreateUserRequest),
        response: { 201: ref(CreatedUserResponse) },
      },
      config: { permission: PERMISSIONS.writeUsers, failures: ['conflict'] },
    },
    async ({ actor, body }, reply) => {
      await checkOperator(deps.pool, actor.userId);
      const own = await getOwnKey(deps.pool, actor);
      const input = toNewUser(body, own.expiresAt?.toISOString() ?? null);
      const { user, key, secret } = await change(deps, actor, createUserWithKey, input);
      deps.logger.info({ userId: user.id, by: actor.userId, role: user.role }, 'user created');
      const account = renderUserAccount(await getUserAccount(deps.pool, user.id));
      return reply.code(201).send({ ...account, key: key && { ...toApiKeyResponse(key), secret: secret! } });
    },
  );
};
