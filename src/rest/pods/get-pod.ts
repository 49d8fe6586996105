import type { PodId } from '../../core/ids.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodResponse } from './pod-fields.ts';
import { PodParams, PodQuery } from './pod-schemas.ts';
import { type PodWire, readPodResponse, reasonOf } from './pod-wire.ts';

export const getPodRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/pods/:id',
      {
        schema: {
          operationId: 'getPod',
          summary: 'Get a pod',
          tags: ['pods'],
          params: PodParams,
          querystring: PodQuery,
          response: { 200: ref(PodResponse) },
        },
        config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
      },
      async (request) => {
        const pod = await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId);
        return { ...(await readPodResponse(deps, wire, pod)), ...reasonOf(pod, request.query) };
      },
    );
  };
