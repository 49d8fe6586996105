import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { getEndpointFigures, listEndpointFigures } from '../../domain/endpoints/list-endpoint-figures.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { EndpointFiguresList, EndpointFiguresQuery, MAX_FIGURE_IDS, toFiguresResponse } from './figure-schemas.ts';

export const listEndpointFiguresRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/figures',
    {
      schema: {
        operationId: 'listEndpointFigures',
        summary: 'List what endpoints do',
        description:
          'Podyard only. Returns the state, the work, the last hour and the cost of today of endpoints, for a list to watch. Identifiers that are not of the account’s endpoints are left out.',
        tags: ['serverless', 'podyard'],
        querystring: EndpointFiguresQuery,
        response: { 200: ref(EndpointFiguresList) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'unprocessable'] },
    },
    async ({ actor, query }) => {
      const { pool, clock } = deps;
      const ids = query.ids?.split(',').filter((id) => id !== '') as EndpointId[] | undefined;
      if (ids && ids.length > MAX_FIGURE_IDS) {
        throw new Failure('badRequest', `ids: ${ids.length} identifiers; at most ${MAX_FIGURE_IDS} are allowed`);
      }
      const figures = ids
        ? await getEndpointFigures(pool, actor.userId, ids, clock.now())
        : await listEndpointFigures(pool, actor.userId, clock.now());
      return { figures: figures.map(toFiguresResponse) };
    },
  );
};
