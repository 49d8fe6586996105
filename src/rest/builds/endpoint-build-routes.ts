import { notFound } from '../../core/errors.ts';
import type { BuildId, EndpointId, UserId } from '../../core/ids.ts';
import type { Build } from '../../domain/builds/build.ts';
import { getBuild, listBuilds } from '../../domain/builds/build-store.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { eventStreamSchema } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { sendBuildLog, TEXT_EVENTS } from './build-log-routes.ts';
import { toBuildResponse } from './build-routes.ts';
import { BuildList, BuildLogHeaders, BuildResponse, EndpointBuildParams } from './build-schemas.ts';

const MAX_LISTED = 100;
const config = { permission: PERMISSIONS.readEndpoint, failures: ['notFound' as const] };

const LINES = eventStreamSchema(
  'Server-sent events, one per line of the build’s output; one named `end` is the last.',
  'id: 1\ndata: Step 1/4\n\nevent: end\ndata: {"status":"COMPLETED"}\n\n',
);

export const endpointBuildRoutes: RestRoute = (app, deps) => {
  const { pool } = deps;

  app.get('/v2/serverless/:id/builds', {
    schema: {
      operationId: 'listBuilds',
      summary: 'List the builds of an endpoint',
      tags: ['serverless'],
      params: EndpointParams,
      response: { 200: ref(BuildList) },
    },
    config,
    handler: async ({ actor: { userId }, params }) => {
      const { id } = await getEndpointRow(pool, userId, params.id as EndpointId);
      const { builds } = await listBuilds(pool, userId, { endpointId: id, limit: MAX_LISTED });
      return { builds: builds.map(toBuildResponse) };
    },
  });

  app.get('/v2/serverless/:id/builds/:buildId', {
    schema: {
      operationId: 'getBuild',
      summary: 'Get a build',
      tags: ['serverless'],
      params: EndpointBuildParams,
      response: { 200: ref(BuildResponse) },
    },
    config,
    handler: async ({ actor, params }) => toBuildResponse(await getEndpointBuild({ pool }, actor.userId, params)),
  });

  app.get('/v2/serverless/:id/builds/:buildId/logs', {
    exposeHeadRoute: false, // a HEAD request would keep reading the log
    schema: {
      operationId: 'getBuildLogs',
      summary: 'Stream the output of a build',
      tags: ['serverless'],
      params: EndpointBuildParams,
      headers: BuildLogHeaders,
      response: { 200: LINES },
    },
    config: { ...config, failures: ['notFound', 'unprocessable'] },
    handler: async ({ actor, params, headers }, reply) => {
      const build = await getEndpointBuild(deps, actor.userId, params);
      const after = Number(headers['last-event-id'] ?? 0);
      return sendBuildLog(deps, reply, actor, { build, after, format: TEXT_EVENTS });
    },
  });
};

/** Throws `notFound` unless the user's endpoint took the build's image. */
async function getEndpointBuild(
  { pool }: Pick<RouteDeps, 'pool'>,
  userId: UserId,
  { id, buildId }: { id: string; buildId: string },
): Promise<Build> {
  await getEndpointRow(pool, userId, id as EndpointId);
  const build = await getBuild(pool, userId, buildId as BuildId);
  if (build.endpointId !== id) throw notFound('Build');
  return build;
}
