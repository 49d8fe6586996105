import type { TSchema } from 'typebox';
import { notFound } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { eventStreamSchema } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { dateTime, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const BuildResponse = Type.Object(
  { id: Type.String(), createdAt: dateTime() },
  { $id: 'Build', description: 'An image that was built for an endpoint.' },
);
const BuildList = Type.Object(
  { builds: Type.Array(ref(BuildResponse)) },
  {
    $id: 'BuildList',
    description: 'The newest 100 builds of an endpoint, newest first. Endpoints run given images, so there are none.',
  },
);
export const BUILD_SCHEMAS: readonly TSchema[] = [BuildResponse, BuildList];

const BuildParams = Type.Object({ ...EndpointParams.properties, buildId: Type.String() });
const config = { permission: PERMISSIONS.readEndpoint, failures: ['notFound' as const] };

const listBuildsRoute: RestRoute = (app, { pool }) => {
  app.get(
    '/v2/serverless/:id/builds',
    {
      schema: {
        operationId: 'listBuilds',
        summary: 'List the builds of an endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: ref(BuildList) },
      },
      config,
    },
    async (request) => {
      await getEndpointRow(pool, request.actor.userId, request.params.id as EndpointId);
      return { builds: [] };
    },
  );
};

const getBuildRoute: RestRoute = (app, { pool }) => {
  app.get(
    '/v2/serverless/:id/builds/:buildId',
    {
      schema: {
        operationId: 'getBuild',
        summary: 'Get a build',
        tags: ['serverless'],
        params: BuildParams,
        response: { 200: ref(BuildResponse) },
      },
      config,
    },
    async (request) => {
      await getEndpointRow(pool, request.actor.userId, request.params.id as EndpointId);
      throw notFound('Build');
    },
  );
};

const LINES = eventStreamSchema('Server-sent events, one per line of the build’s output.', 'data: Step 1/4\n\n');

const getBuildLogsRoute: RestRoute = (app, { pool }) => {
  app.get(
    '/v2/serverless/:id/builds/:buildId/logs',
    {
      exposeHeadRoute: false,
      schema: {
        operationId: 'getBuildLogs',
        summary: 'Stream the output of a build',
        tags: ['serverless'],
        params: BuildParams,
        response: { 200: LINES },
      },
      config,
    },
    async (request) => {
      await getEndpointRow(pool, request.actor.userId, request.params.id as EndpointId);
      throw notFound('Build');
    },
  );
};

/** Podyard builds no images yet: an empty list, and 404 for every build. */
export const BUILD_ROUTES: readonly RestRoute[] = [listBuildsRoute, getBuildRoute, getBuildLogsRoute];
