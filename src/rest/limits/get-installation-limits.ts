import { checkOperator } from '../../domain/access/check-operator.ts';
import { readSetLimits } from '../../domain/quotas/limit-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationLimitsResponse } from './limit-schemas.ts';
import { renderInstallationLimits } from './limit-wire.ts';

export const getInstallationLimitsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/installation/limits',
    {
      schema: {
        operationId: 'getInstallationLimits',
        summary: 'Get the default limits',
        description: 'Podyard only, for admins. Returns the limits of users without their own.',
        tags: ['podyard'],
        response: { 200: ref(InstallationLimitsResponse) },
      },
      config: { permission: PERMISSIONS.readUserLimits },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return renderInstallationLimits((await readSetLimits(deps.pool, [])).installation);
    },
  );
};
