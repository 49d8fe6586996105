import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { findJupyterPassword } from '../../domain/pods/jupyter-password.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { setPodAccess, setPodLifetime } from '../../domain/pods/set-pod-options.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { toLifetime, toLifetimeResponse } from './pod-lifetime-wire.ts';
import { PodAccess, PodJupyter, PodLifetime, PodParams } from './pod-schemas.ts';

export const podSettingRoutes: RestRoute = (app, deps) => {
  app.get('/v2/pods/:id/access', {
    schema: {
      operationId: 'getPodAccess',
      summary: 'Get who can reach the HTTP ports of a pod',
      description: 'Podyard only.',
      tags: ['pods', 'podyard'],
      params: PodParams,
      response: { 200: ref(PodAccess) },
    },
    config: { permission: PERMISSIONS.readPod, failures: ['notFound'] },
    handler: async (request) => {
      const { isPrivate } = await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId);
      return { private: isPrivate };
    },
  });

  app.put('/v2/pods/:id/access', {
    schema: {
      operationId: 'setPodAccess',
      summary: 'Make the HTTP ports of a pod private or public',
      description:
        'Podyard only. Takes effect at once and keeps the container. When the pod becomes private, open connections of clients without a key are closed.',
      tags: ['pods', 'podyard'],
      params: PodParams,
      body: ref(PodAccess),
      response: { 200: ref(PodAccess) },
    },
    config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
    handler: async (request) => {
      const { isPrivate } = await change(deps, request.actor, setPodAccess, {
        id: request.params.id as PodId,
        isPrivate: request.body.private,
      });
      return { private: isPrivate };
    },
  });

  app.get('/v2/pods/:id/lifetime', {
    schema: {
      operationId: 'getPodLifetime',
      summary: 'Get when a pod is stopped and terminated',
      description: 'Podyard only.',
      tags: ['pods', 'podyard'],
      params: PodParams,
      response: { 200: ref(PodLifetime) },
    },
    config: { permission: PERMISSIONS.readPod, failures: ['notFound'] },
    handler: async (request) =>
      toLifetimeResponse(await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId)),
  });

  app.put('/v2/pods/:id/lifetime', {
    schema: {
      operationId: 'setPodLifetime',
      summary: 'Set when a pod is stopped and terminated',
      description:
        'Podyard only. Both times are replaced, and the container stays. A pod that is locked is stopped when it is unlocked; one that does not run at its `stopAfter` keeps no time.',
      tags: ['pods', 'podyard'],
      params: PodParams,
      body: ref(PodLifetime),
      response: { 200: ref(PodLifetime) },
    },
    config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
    handler: async (request) => {
      const lifetime = toLifetime(request.body, deps.clock.now());
      const id = request.params.id as PodId;
      return toLifetimeResponse(await change(deps, request.actor, setPodLifetime, { id, lifetime }));
    },
  });

  app.get('/v2/pods/:id/jupyter', {
    schema: {
      operationId: 'getPodJupyter',
      summary: 'Get the Jupyter password of a pod',
      description: 'Podyard only. Needs write access to the pod: a person who signs in runs programs in it.',
      tags: ['pods', 'podyard'],
      params: PodParams,
      response: { 200: ref(PodJupyter) },
    },
    config: { permission: PERMISSIONS.readPodPassword, failures: ['notFound'] },
    handler: async (request) => ({
      password: await findJupyterPassword(deps, request.actor.userId, request.params.id as PodId),
    }),
  });
};
