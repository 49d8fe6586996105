import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { changeRollout } from '../../domain/releases/change-rollout.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { listReleaseImages } from '../../domain/releases/release-images.ts';
import { rollbackRelease } from '../../domain/releases/rollback-release.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import type { EndpointWire } from '../endpoints/endpoint-wire.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  ChangeRolloutRequest,
  ReleaseImageListResponse,
  ReleaseListResponse,
  ReleaseParams,
  RolloutResponse,
} from './release-schemas.ts';
import { toReleaseImageListResponse, toReleaseListResponse, toRolloutResponse } from './release-wire.ts';

export const releaseRoutes =
  (wire: EndpointWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/serverless/:id/releases', {
      schema: {
        operationId: 'listEndpointReleases',
        summary: 'List the releases of an endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: ref(ReleaseListResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
      handler: async (request) => {
        const id = request.params.id as EndpointId;
        return toReleaseListResponse(await listReleases(deps.pool, request.actor.userId, id));
      },
    });

    app.get('/v2/serverless/:id/release-images', {
      schema: {
        operationId: 'listReleaseImages',
        summary: 'List what the images of releases stand for',
        description:
          'Podyard only. The name of an image is resolved once for each release. A roll-back brings back the digest of the release that it names. An update with the `image` that is there resolves its name anew, and makes a release if that stands for another digest.',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: ref(ReleaseImageListResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
      handler: async (request) => {
        const id = request.params.id as EndpointId;
        await getEndpointRow(deps.pool, request.actor.userId, id);
        return toReleaseImageListResponse(await listReleaseImages(deps.pool, request.actor.userId, id));
      },
    });

    app.post('/v2/serverless/:id/releases/:releaseId/rollback', {
      schema: {
        operationId: 'rollbackRelease',
        summary: 'Roll back to a release',
        description:
          'Podyard only. Creates a release with the configuration of this one: container settings, `gpu` and `networkVolumes`. It rolls out at once, even if the roll-out was paused. If nothing would change, no release is created.',
        tags: ['serverless'],
        params: ReleaseParams,
        response: { 200: wire.Response },
      },
      config: { permission: PERMISSIONS.rollBackRelease, failures: ['badRequest', 'notFound'] },
      handler: async (request) => {
        const { id, releaseId } = request.params;
        const endpoint = await change(deps, request.actor, rollbackRelease, {
          id: id as EndpointId,
          releaseId: releaseId as ReleaseId,
        });
        return wire.toResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
      },
    });

    app.post('/v2/serverless/:id/rollout', {
      schema: {
        operationId: 'changeRollout',
        summary: 'Pause, resume or prove a roll-out',
        description:
          'Podyard only. While paused, no worker is replaced. New workers still start on the newest release. `try` asks for a trial: if no worker of the newest release has been ready, one is started, and while the trial has failed, an earlier release serves. A failed or skipped trial is tried again. `skip-trial` rolls the release out without one.',
        tags: ['serverless'],
        params: EndpointParams,
        body: ref(ChangeRolloutRequest),
        response: { 200: ref(RolloutResponse) },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
      handler: async (request) => {
        const { action } = request.body;
        return toRolloutResponse(
          await change(deps, request.actor, changeRollout, { id: request.params.id as EndpointId, action }),
        );
      },
    });
  };
