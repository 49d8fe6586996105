import { isOperator } from '../../domain/access/check-operator.ts';
import { findModelRoom, type ModelRoom } from '../../domain/machine-models/machine-model-store.ts';
import { modelRoomProblem } from '../../domain/machine-models/model-room-problem.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationResponse } from './installation-schemas.ts';

const FREEZES = { freezer: 'STOPPED', parked: 'PARKED' } as const;

export const getInstallationRoute: RestRoute = (app, deps) =>
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
        problems: isAdmin ? [...(await problems()), ...roomProblems(await findModelRoom(deps.pool))] : [],
      };
    },
  });

function roomProblems(room: ModelRoom | undefined): string[] {
  return [modelRoomProblem(room) ?? []].flat();
}
