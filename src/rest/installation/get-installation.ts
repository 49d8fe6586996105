import { isOperator } from '../../domain/access/check-operator.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationResponse } from './installation-schemas.ts';

const FREEZES = { freezer: 'STOPPED', parked: 'PARKED' } as const;

export const getInstallationRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/installation',
    {
      schema: {
        operationId: 'getInstallation',
        summary: 'Get the installation',
        description: 'Podyard only. Returns what this installation runs on; the same for every account but `problems`.',
        tags: ['podyard'],
        response: { 200: ref(InstallationResponse) },
      },
      config: { permission: PERMISSIONS.readAccount },
    },
    async ({ actor }) => {
      const { id, version, runtime, isIsolated, areGpusSimulated, freeze, sleep, notices, problems } = deps.facts;
      return {
        id,
        version,
        runtime,
        isolation: isIsolated,
        gpus: areGpusSimulated ? ('SIMULATED' as const) : ('REAL' as const),
        freeze: freeze === null ? ('NONE' as const) : FREEZES[freeze],
        sleep: await sleep(),
        buildHindrance: deps.builds.hindrance,
        notices,
        problems: (await isOperator(deps.pool, actor.userId, 'readInstallation')) ? await problems() : [],
      };
    },
  );
};
