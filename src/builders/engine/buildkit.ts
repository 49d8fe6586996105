/**
 * A build by Docker's BuildKit. The folder goes as the body of one request, whose response streams the steps; secrets and credentials are
 * asked for in a session beside it. When the request's connection closes, the engine ends the build.
 */
import { randomUUID } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import { readMessages } from './build-messages.ts';
import type { BuildPlan } from './build-plan.ts';
import { readTrace } from './buildkit-trace.ts';

/** Builds and names the image. Returns its id. */
export async function buildWithBuildKit(engine: Engine, plan: BuildPlan): Promise<string> {
  const { request, session, signal } = plan;
  // Another one for each attempt: for a moment the engine still has that of a build whose server was killed.
  const sessionId = `${request.id}-${randomUUID()}`;
  try {
    await session.open(sessionId, signal);
    const answer = await engine.stream({
      method: 'POST',
      path: '/build',
      query: queryOf(plan, sessionId),
      archive: plan.archive(),
      timeoutMs: plan.limits.timeoutMs,
      signal,
    });
    let id = '';
    for await (const message of readMessages(answer)) {
      if (message.id === 'moby.buildkit.trace') readTrace(message.aux as string, plan.steps);
      if (message.id === 'moby.image.id') id = (message.aux as { ID: string }).ID;
    }
    return id;
  } finally {
    session.close();
  }
}

/**
 * The engine shares the results of equal steps among all builds, and its caches (`RUN --mount=type=cache`) by name alone. A host name,
 * which is part of a step's cache key, and the names of caches keep scopes apart.
 */
function queryOf({ request, dockerfile, labels, args }: BuildPlan, sessionId: string): Record<string, unknown> {
  const { id, image, usesCache, cacheScope, recipe } = request;
  return {
    version: '2',
    session: sessionId,
    buildid: id,
    t: image,
    dockerfile,
    labels,
    buildargs: { ...args, BUILDKIT_CACHE_MOUNT_NS: cacheScope },
    extrahosts: `${cacheScope}.scope.podyard.internal:127.0.0.1`,
    ...(recipe.target !== null && { target: recipe.target }),
    ...(!usesCache && { nocache: '1' }),
  };
}
