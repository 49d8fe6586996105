import { checkOperator } from '../../domain/access/check-operator.ts';
import { getSimulation } from '../../domain/simulation/simulation.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SimulationResponse } from './simulation-schemas.ts';

export const getSimulationRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/simulation',
    {
      schema: {
        operationId: 'getSimulation',
        summary: 'Get the simulation',
        description:
          'Podyard only, for admins. Returns the state of a server with simulated GPUs. 409 if GPUs are real.',
        tags: ['podyard'],
        response: { 200: ref(SimulationResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['conflict'] },
    },
    async (request) => {
      await checkOperator(deps.pool, request.actor.userId);
      return getSimulation(deps.pool);
    },
  );
};
