import { change } from '../../domain/change.ts';
import { simulate } from '../../domain/simulation/simulate.ts';
import { getSimulation } from '../../domain/simulation/simulation.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SimulateRequest, SimulationResponse } from './simulation-schemas.ts';

export const simulationRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/simulation', {
    schema: {
      operationId: 'getSimulation',
      summary: 'Get the simulation',
      description: 'Podyard only, for admins. Returns the state of a server with simulated GPUs. 409 if GPUs are real.',
      tags: ['podyard'],
      response: { 200: ref(SimulationResponse) },
    },
    config: { permission: PERMISSIONS.readAccount, operator: 'readInstallation', failures: ['conflict'] },
    handler: async () => {
      return getSimulation(deps.pool);
    },
  });

  app.post('/v2/account/simulation', {
    schema: {
      operationId: 'simulate',
      summary: 'Simulate shortage',
      description:
        'Podyard only, for admins. Simulates throttling, preemption, slow starts and crashes on a server with ' +
        'simulated GPUs, to test how clients cope. 409 if GPUs are real.',
      tags: ['podyard'],
      body: ref(SimulateRequest),
      response: { 200: ref(SimulationResponse) },
    },
    config: {
      permission: PERMISSIONS.writeAccount,
      operator: 'writeInstallation',
      failures: ['notFound', 'conflict'],
    },
    handler: async (request) => {
      return change(deps, request.actor, simulate, request.body);
    },
  });
};
