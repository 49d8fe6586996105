import type { SessionId, UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { listSessions } from '../../domain/sessions/session-store.ts';
import { endSession } from '../../domain/sessions/sessions.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { SessionList, SessionParams, toSessionResponse, UserSessionParams } from './session-schemas.ts';

const PATH = '/v2/account/sessions';
const USER_PATH = '/v2/account/users/:id/sessions';

export const sessionRoutes: RestRoute = (app, deps) => {
  app.get(PATH, {
    schema: {
      operationId: 'listSessions',
      summary: 'List where you are signed in',
      description: 'Podyard only. The browsers that are signed in to the account.',
      tags: ['podyard'],
      response: { 200: ref(SessionList) },
    },
    config: { permission: PERMISSIONS.readAccount },
    handler: async ({ actor }) => {
      const sessions = await listSessions(deps.pool, actor.userId);
      return { sessions: sessions.map((session) => toSessionResponse(session, actor.sessionId)) };
    },
  });

  app.delete(`${PATH}/:id`, {
    schema: {
      operationId: 'endSession',
      summary: 'Sign a browser out',
      description: 'Podyard only. What the browser has open, such as streams and terminals, ends within two seconds.',
      tags: ['podyard'],
      params: SessionParams,
      response: { 204: noContent('Ended.') },
    },
    config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, endSession, { userId: actor.userId, sessionId: params.id as SessionId });
      return reply.code(204).send();
    },
  });

  app.get(USER_PATH, {
    schema: {
      operationId: 'listUserSessions',
      summary: 'List where a user is signed in',
      description: 'Podyard only, for admins.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(SessionList) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['notFound'] },
    handler: async ({ actor, params }) => {
      const { user } = await getUserAccount(deps.pool, params.id as UserId);
      const sessions = await listSessions(deps.pool, user.id);
      return { sessions: sessions.map((session) => toSessionResponse(session, actor.sessionId)) };
    },
  });

  app.delete(`${USER_PATH}/:sessionId`, {
    schema: {
      operationId: 'endUserSession',
      summary: 'Sign a browser of a user out',
      description: 'Podyard only, for admins.',
      tags: ['podyard'],
      params: UserSessionParams,
      response: { 204: noContent('Ended.') },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      const { id, sessionId } = params;
      await change(deps, actor, endSession, { userId: id as UserId, sessionId: sessionId as SessionId });
      deps.logger.info({ userId: id, by: actor.userId, sessionId }, 'session ended by an admin');
      return reply.code(204).send();
    },
  });
};
