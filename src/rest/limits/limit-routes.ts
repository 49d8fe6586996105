import type { UserId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { readSetLimits } from '../../domain/quotas/limit-store.ts';
import { updateLimits } from '../../domain/quotas/update-limits.ts';
import { getUserLimits } from '../../domain/quotas/user-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationLimitsResponse, UpdateLimitsRequest, UserLimitsResponse, UserParams } from './limit-schemas.ts';
import { renderInstallationLimits, renderUserLimits } from './limit-wire.ts';

export const limitRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/limits', {
    schema: {
      operationId: 'getOwnLimits',
      summary: 'Get your limits',
      description: 'Podyard only. Returns what the account may have, and has.',
      tags: ['podyard'],
      response: { 200: ref(UserLimitsResponse) },
    },
    config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
    handler: async (request) => renderUserLimits(await getUserLimits(deps.pool, request.actor.userId)),
  });

  app.get('/v2/account/users/:id/limits', {
    schema: {
      operationId: 'getUserLimits',
      summary: 'Get a user’s limits',
      description: 'Podyard only, for admins. Returns what the user may have, and has.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(UserLimitsResponse) },
    },
    config: { permission: PERMISSIONS.readUserLimits, operator: 'readUsers', failures: ['notFound'] },
    handler: async (request) => {
      return renderUserLimits(await getUserLimits(deps.pool, request.params.id as UserId));
    },
  });

  app.patch('/v2/account/users/:id/limits', {
    schema: {
      operationId: 'updateUserLimits',
      summary: 'Change a user’s limits',
      description:
        'Podyard only, for admins. Applies within seconds. A lower limit ends nothing that exists, except ' +
        'workers of an endpoint that alone has more than the user’s limit.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(UpdateLimitsRequest),
      response: { 200: ref(UserLimitsResponse) },
    },
    config: { permission: PERMISSIONS.writeUserLimits, operator: 'writeUsers', failures: ['notFound'] },
    handler: async (request) => {
      const id = request.params.id as UserId;
      await change(deps, request.actor, updateLimits, { userId: id, changes: request.body });
      return renderUserLimits(await getUserLimits(deps.pool, id));
    },
  });

  app.get('/v2/account/installation/limits', {
    schema: {
      operationId: 'getInstallationLimits',
      summary: 'Get the default limits',
      description: 'Podyard only, for admins. Returns the limits of users without their own.',
      tags: ['podyard'],
      response: { 200: ref(InstallationLimitsResponse) },
    },
    config: { permission: PERMISSIONS.readUserLimits, operator: 'readInstallation' },
    handler: async () => {
      return renderInstallationLimits((await readSetLimits(deps.pool, [])).installation);
    },
  });

  app.patch('/v2/account/installation/limits', {
    schema: {
      operationId: 'updateInstallationLimits',
      summary: 'Change the default limits',
      description:
        'Podyard only, for admins. Changes the limits of users without their own, within seconds. `DEFAULT` ' +
        'returns to the built-in value.',
      tags: ['podyard'],
      body: ref(UpdateLimitsRequest),
      response: { 200: ref(InstallationLimitsResponse) },
    },
    config: { permission: PERMISSIONS.writeUserLimits, operator: 'writeInstallation' },
    handler: async (request) => {
      return renderInstallationLimits(
        (await change(deps, request.actor, updateLimits, { userId: null, changes: request.body })).installation,
      );
    },
  });
};
