import { checkOperator } from '../../domain/access/check-operator.ts';
import { change } from '../../domain/change.ts';
import { updateLimits } from '../../domain/quotas/update-limits.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationLimitsResponse, UpdateLimitsRequest } from './limit-schemas.ts';
import { renderInstallationLimits } from './limit-wire.ts';

export const updateInstallationLimitsRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/account/installation/limits',
    {
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
      config: { permission: PERMISSIONS.writeUserLimits },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return renderInstallationLimits(
        (await change(deps, request.actor, updateLimits, { userId: null, changes: request.body })).installation,
      );
    },
  );
};
