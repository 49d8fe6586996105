import { listAllEndpoints } from '../../domain/users/list-all-endpoints.ts';
import { toStateResponse } from '../endpoints/state-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { InstallationEndpointList, InstallationEndpointQuery, MAX_ENDPOINTS } from './endpoint-list-schemas.ts';

export const listInstallationEndpointsRoute: RestRoute = (app, deps) =>
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
