import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updatePod } from '../../domain/pods/update-pod.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodResponse, toPodChange, UpdatePodRequest } from './pod-fields.ts';
import { PodParams } from './pod-schemas.ts';
import { type PodWire, readPodResponse } from './pod-wire.ts';

export const updatePodRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.patch(
      '/v2/pods/:id',
      {
        schema: {
          operationId: 'updatePod',
          summary: 'Update a pod',
          description:
            'Only the given fields change. Changing container settings replaces the container of a running pod at once; mounts are kept.',
          tags: ['pods'],
          params: PodParams,
          querystring: EnvQuery,
          body: ref(UpdatePodRequest),
          response: { 200: ref(PodResponse) },
        },
        config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
      },
      async (request) => {
        const { actor, body, params, query } = request;
        const pod = await change(deps, actor, updatePod, {
          id: params.id as PodId,
          update: (before) => editEnv(toPodChange(body), before, query),
        }).catch(wire.refuse);
        return readPodResponse(deps, wire, pod);
      },
    );
  };
