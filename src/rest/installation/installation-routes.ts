import type { Db } from '../../db/pool.ts';
import { isOperator } from '../../domain/access/check-operator.ts';
import { findModelRoom, modelRoomProblem } from '../../domain/machine-models/machine-model-store.ts';
import { listAllEndpoints } from '../../domain/users/list-all-endpoints.ts';
import { toStateResponse } from '../endpoints/state-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationEndpointList, InstallationEndpointQuery, MAX_ENDPOINTS } from './endpoint-list-schemas.ts';
import { InstallationResponse } from './installation-schemas.ts';

const FREEZES = { freezer: 'STOPPED', parked: 'PARKED' } as const;

export const installationRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/installation', {
    schema: {
      operationId: 'getInstallation',
      summary: 'Get the installation',
      description: 'Podyard only. Returns what this installation runs on; the same for every account but `problems`.',
      tags: ['podyard'],
      response: { 200: ref(InstallationResponse) },
    },
    config: { permission: PERMISSIONS.readAccount },
    handler: async ({ actor }) => {
      const isAdmin = await isOperator(deps.pool, actor.userId, 'readInstallation');
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
        problems: isAdmin ? [...(await problems()), ...(await roomProblems(deps.pool))] : [],
      };
    },
  });

  app.get('/v2/account/installation/endpoints', {
    schema: {
      operationId: 'listInstallationEndpoints',
      summary: 'List the endpoints of all accounts',
      description:
        'Podyard only, for admins. Returns the endpoints of all people and teams, whose they are, and whether they are well. The header `Podyard-Team` with the id of an account reads more of what it owns.',
      tags: ['podyard'],
      querystring: InstallationEndpointQuery,
      response: { 200: ref(InstallationEndpointList) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['unprocessable'] },
    handler: async ({ query: { account: accountId, limit = MAX_ENDPOINTS, ...query } }) => {
      const { endpoints, next } = await listAllEndpoints(deps.pool, { ...query, accountId, limit }, deps.clock.now());
      return { endpoints: endpoints.map(({ state, ...rest }) => ({ ...rest, ...toStateResponse(state) })), next };
    },
  });
};

async function roomProblems(db: Db): Promise<string[]> {
  const problem = modelRoomProblem(await findModelRoom(db));
  return problem === null ? [] : [problem];
}
