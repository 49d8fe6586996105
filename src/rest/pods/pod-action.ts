import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { POD_ACTIONS } from '../../domain/pods/act-on-pod.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { PodResponse } from './pod-fields.ts';
import { PodActionRequest, PodParams } from './pod-schemas.ts';
import { type PodWire, readPodResponse } from './pod-wire.ts';

export const podActionRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.post(
      '/v2/pods/:id/action',
      {
        schema: {
          operationId: 'podAction',
          summary: 'Start, stop, restart or terminate a pod',
          description: 'The pod’s `actions` lists what is possible; any other action is a 409.',
          tags: ['pods'],
          params: PodParams,
          body: ref(PodActionRequest),
          response: { 200: ref(PodResponse), 204: noContent('Terminated.') },
        },
        config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
      },
      async (request, reply) => {
        const { actor, params, body } = request;
        const pod = await change(deps, actor, POD_ACTIONS[body.action], { id: params.id as PodId });
        if (body.action === 'terminate') return reply.code(204).send();
        return reply.send(await readPodResponse(deps, wire, pod));
      },
    );
  };
