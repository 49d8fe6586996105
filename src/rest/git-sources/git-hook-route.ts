import type { FastifyRequest } from 'fastify';
import { Failure } from '../../core/errors.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { noticePush } from '../../domain/git-sources/change-git-source.ts';
import { findHook } from '../../domain/git-sources/git-source-store.ts';
import { decideEvent, hasProof, isGenuine } from '../../domain/git-sources/webhook-event.ts';
import type { RestRoute, RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { GitHookResponse } from './git-source-schemas.ts';

const MAX_BODY_BYTES = 2 ** 20;
const GitHookParams = Type.Object({ sourceId: Type.String({ description: 'Identifier of the git source.' }) });

/**
 * Takes webhooks of git hosts, which have no key: the secret of the source proves them. An unknown source and a wrong signature get
 * the same answer; without a source or any signature the body is not read.
 */
export const gitHookRoute: RestRoute = (app, deps) => {
  const hooks = new WeakMap<FastifyRequest, Hook>();
  app.post('/hooks/git/:sourceId', {
    bodyLimit: MAX_BODY_BYTES,
    schema: {
      operationId: 'receiveGitWebhook',
      summary: 'Receive a webhook of a repository',
      description:
        'Podyard only. For GitHub, Gitea and GitLab, with their signatures; the body is `application/json`, 1 MiB at most. A push to what the endpoint is built from has the repository looked at; anything else is answered with why it is ignored. 401 for a wrong signature and for an unknown source alike.',
      tags: ['podyard'],
      security: [],
      params: GitHookParams,
      response: { 200: ref(GitHookResponse), 202: ref(GitHookResponse) },
    },
    config: {
      permission: 'public',
      takesSignedBody: true,
      failures: ['unauthorized', 'badRequest', 'contentTooLarge', 'unsupportedMediaType'],
    },
    onRequest: async (request) => {
      const hook = hasProof(request.headers) ? await openHook(deps, request.params.sourceId) : null;
      if (hook === null) throw refusal();
      hooks.set(request, hook);
    },
    handler: async (request, reply) => {
      const { id: sourceId, userId, secret, ...target } = hooks.get(request)!;
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      if (!isGenuine(request.headers, body, secret)) throw refusal();
      const decision = decideEvent(request.headers, parse(body), target);
      if (!decision.look) return { look: false, ignored: decision.ignored };
      await change(deps, systemActor(userId), noticePush, { sourceId });
      return reply.code(202).send({ look: true, ignored: null });
    },
  });
};

type Hook = NonNullable<Awaited<ReturnType<typeof openHook>>>;

async function openHook({ pool, secretBox, logger }: RouteDeps, id: string) {
  const found = await findHook(pool, id);
  if (!found) return null;
  const { webhookSecret, ...hook } = found;
  try {
    return { ...hook, secret: secretBox.open(webhookSecret, hook.id) };
  } catch (error) {
    logger.error({ gitSourceId: id, err: error }, 'the secret of a webhook cannot be opened');
    throw new Failure('internal', 'The secret of the webhook cannot be opened: the server’s log says why.', {
      cause: error,
    });
  }
}

function refusal(): Failure {
  return new Failure('unauthorized', 'there is no such webhook, or its signature does not match');
}

/** Throws `badRequest`. */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch (cause) {
    throw new Failure('badRequest', `The webhook could not be read: its body is not valid JSON.`, { cause });
  }
}
