import type { UserId } from '../../core/ids.ts';
import { findGrant } from '../../domain/access/create-api-key.ts';
import { change } from '../../domain/change.ts';
import { resumeUser, suspendUser, updateUser } from '../../domain/users/change-user.ts';
import { createUserWithKey } from '../../domain/users/create-user.ts';
import { getUserAccount, listUserPage, MAX_USERS } from '../../domain/users/list-users.ts';
import { planRemoval, requestRemoval } from '../../domain/users/request-removal.ts';
import { toApiKeyResponse } from '../account/api-key-wire.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  CreatedUserResponse,
  CreateUserRequest,
  RemovalPlanResponse,
  RemovalQuery,
  SuspendUserRequest,
  UpdateUserRequest,
  UserAccountList,
  UserAccountResponse,
  UserListQuery,
} from './user-schemas.ts';
import { renderUserAccount, toNewUser } from './user-wire.ts';

export const userRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/users', {
    schema: {
      operationId: 'listUsers',
      summary: 'List users',
      description: 'Podyard only, for admins. Returns users, oldest first, with what each may have, and has.',
      tags: ['podyard'],
      querystring: UserListQuery,
      response: { 200: ref(UserAccountList) },
    },
    config: { permission: PERMISSIONS.readUserLimits, operator: 'readUsers', failures: ['unprocessable'] },
    handler: async ({ query }) => {
      const page = await listUserPage(deps.pool, { ...query, limit: query.limit ?? MAX_USERS });
      return { users: page.users.map(renderUserAccount), next: page.next };
    },
  });

  app.post('/v2/account/users', {
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
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['conflict'] },
    handler: async ({ actor, body }, reply) => {
      const own = await findGrant(deps.pool, actor);
      const input = toNewUser(body, own.expiresAt?.toISOString() ?? null);
      const { user, key, secret } = await change(deps, actor, createUserWithKey, input);
      deps.logger.info({ userId: user.id, by: actor.userId, role: user.role }, 'user created');
      const account = renderUserAccount(await getUserAccount(deps.pool, user.id));
      return reply.code(201).send({ ...account, key: key && { ...toApiKeyResponse(key), secret: secret! } });
    },
  });

  app.get('/v2/account/users/:id', {
    schema: {
      operationId: 'getUser',
      summary: 'Get a user',
      description: 'Podyard only, for admins. During a deletion, `removal` says what is left.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(UserAccountResponse) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['notFound'] },
    handler: async (request) => {
      return renderUserAccount(await getUserAccount(deps.pool, request.params.id as UserId));
    },
  });

  app.patch('/v2/account/users/:id', {
    schema: {
      operationId: 'updateUser',
      summary: 'Change a user',
      description: 'Podyard only, for admins. The last active admin stays one: 409.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(UpdateUserRequest),
      response: { 200: ref(UserAccountResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const id = params.id as UserId;
      const { role } = await change(deps, actor, updateUser, { id, changes: body });
      deps.logger.info({ userId: id, by: actor.userId, role }, 'user changed');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  });

  app.post('/v2/account/users/:id/suspend', {
    schema: {
      operationId: 'suspendUser',
      summary: 'Suspend a user',
      description:
        'Podyard only, for admins. The user’s keys are refused with 403 at once, and what was opened with them ends. ' +
        'Jobs that were accepted run on, unless `workloads` is `STOP`. Suspending again changes reason and workloads.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(SuspendUserRequest),
      response: { 200: ref(UserAccountResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const id = params.id as UserId;
      const { workloads = 'KEEP', reason = null } = body;
      await change(deps, actor, suspendUser, { id, workloads, reason });
      deps.logger.warn({ userId: id, by: actor.userId, workloads }, 'user suspended');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  });

  app.post('/v2/account/users/:id/resume', {
    schema: {
      operationId: 'resumeUser',
      summary: 'End a user’s suspension',
      description: 'Podyard only, for admins. Endpoints scale again; pods that were stopped stay stopped.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(UserAccountResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params }) => {
      const id = params.id as UserId;
      await change(deps, actor, resumeUser, { id });
      deps.logger.info({ userId: id, by: actor.userId }, 'user resumed');
      return renderUserAccount(await getUserAccount(deps.pool, id));
    },
  });

  app.delete('/v2/account/users/:id', {
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
    config: {
      permission: PERMISSIONS.writeUsers,
      operator: 'writeUsers',
      failures: ['notFound', 'conflict', 'unprocessable'],
    },
    handler: async ({ actor, params, query }, reply) => {
      const id = params.id as UserId;
      const newOwnerId = (query.handOverTo as UserId | undefined) ?? null;
      await change(deps, actor, requestRemoval, { id, newOwnerId });
      deps.logger.warn({ userId: id, by: actor.userId, newOwnerId }, 'user is to be deleted');
      return reply.code(202).send(renderUserAccount(await getUserAccount(deps.pool, id)));
    },
  });

  app.get('/v2/account/users/:id/removal', {
    schema: {
      operationId: 'planUserRemoval',
      summary: 'Show what deleting a user would do',
      description: 'Podyard only, for admins. Changes nothing.',
      tags: ['podyard'],
      params: UserParams,
      querystring: RemovalQuery,
      response: { 200: ref(RemovalPlanResponse) },
    },
    config: {
      permission: PERMISSIONS.readUsers,
      operator: 'readUsers',
      failures: ['notFound', 'conflict', 'unprocessable'],
    },
    handler: async ({ params, query }) => {
      return planRemoval(deps.pool, params.id as UserId, (query.handOverTo as UserId | undefined) ?? null);
    },
  });
};
