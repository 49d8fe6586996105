import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import {
  connectGit,
  disconnectGit,
  type GitSourceSettings,
  syncGit,
} from '../../domain/git-sources/change-git-source.ts';
import type { GitSource } from '../../domain/git-sources/git-source.ts';
import { getGitSource } from '../../domain/git-sources/git-source-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { GitSourceResponse, ReplaceGitSourceRequest } from './git-source-schemas.ts';

const DEFAULT_BRANCH = 'main';

export const gitSourceRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/git-source', {
    schema: {
      operationId: 'getGitSource',
      summary: 'Get the repository of an endpoint',
      description: 'Podyard only. 404 if the endpoint is built from none.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: ref(GitSourceResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async (request) => {
      const { id } = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
      return toGitSourceResponse(deps, request, await getGitSource(deps.pool, id), null);
    },
  });

  app.put('/v2/serverless/:id/git-source', {
    schema: {
      operationId: 'replaceGitSource',
      summary: 'Build an endpoint from a repository',
      description:
        'Podyard only. Each new commit is built, and the endpoint takes the image. The key must also permit to write builds, and to read secrets if one is named; with `applySettings` also registries, network volumes and all secrets. Looks at the repository at once. 403 where the server builds nothing.',
      tags: ['podyard'],
      params: EndpointParams,
      body: ref(ReplaceGitSourceRequest),
      response: { 200: ref(GitSourceResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    handler: async (request) => {
      const { actor, params, body } = request;
      const { rotateWebhookSecret = false } = body;
      const input = { id: params.id as EndpointId, settings: toSettings(body), rotateWebhookSecret };
      const { source, webhookSecret } = await change(deps, actor, connectGit, input);
      return toGitSourceResponse(deps, request, source, webhookSecret);
    },
  });

  app.delete('/v2/serverless/:id/git-source', {
    schema: {
      operationId: 'deleteGitSource',
      summary: 'Build an endpoint from no repository',
      description: 'Podyard only. The endpoint keeps its image. Builds that run deploy nothing.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 204: noContent('The endpoint is built from no repository.') },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, disconnectGit, { id: params.id as EndpointId });
      return reply.code(204).send();
    },
  });

  app.post('/v2/serverless/:id/git-source/sync', {
    schema: {
      operationId: 'syncGitSource',
      summary: 'Look at the repository of an endpoint now',
      description: 'Podyard only. `isLooking` is true until it was; then `lastError` says what went wrong.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 202: ref(GitSourceResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    handler: async (request, reply) => {
      const source = await change(deps, request.actor, syncGit, { id: request.params.id as EndpointId });
      return reply.code(202).send(toGitSourceResponse(deps, request, source, null));
    },
  });
};

/** Throws `unprocessable` where a member depends on another one. */
function toSettings(body: Static<typeof ReplaceGitSourceRequest>): GitSourceSettings {
  const { url, tags = null, folder = '', build = {}, auth = { type: 'NONE' }, pollSeconds = null, statuses } = body;
  const { applySettings = false } = body;
  const branch = body.branch ?? (tags === null ? DEFAULT_BRANCH : null);
  const common = {
    url,
    branch,
    tags,
    folder: folder
      .split('/')
      .filter((name) => name !== '' && name !== '.')
      .join('/'),
    build,
    applySettings,
    pollSeconds,
    statuses,
  };
  const { type, secret } = auth;
  if (type !== 'TOKEN') {
    if (secret !== undefined) throw new Failure('badRequest', 'auth: secret is for TOKEN alone');
    return { ...common, auth: { type } };
  }
  if (secret === undefined)
    throw new Failure('badRequest', 'auth: TOKEN needs secret, the name of the secret with the token');
  return { ...common, auth: { type, secret } };
}

function toGitSourceResponse(
  { publicUrlFor }: RouteDeps,
  { raw }: FastifyRequest,
  { auth, lastLookedAt, createdAt, ...source }: GitSource,
  webhookSecret: string | null,
): Static<typeof GitSourceResponse> {
  return {
    ...source,
    auth: { secret: null, publicKey: null, ...auth },
    webhookUrl: `${publicUrlFor(raw)}/hooks/git/${source.id}`,
    webhookSecret,
    lastLookedAt: lastLookedAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}
