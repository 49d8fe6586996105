import { change } from '../../domain/change.ts';
import { createPod } from '../../domain/pods/create-pod.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodResponse } from './pod-fields.ts';
import { toLifetime } from './pod-lifetime-wire.ts';
import { CreatePodQuery } from './pod-schemas.ts';
import { type PodWire, readPodResponse, toNewPod } from './pod-wire.ts';

export const createPodRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.post(
      '/v2/pods',
      {
        schema: {
          operationId: 'createPod',
          summary: 'Create a pod',
          description:
            'The pod starts at once. Without capacity, the response is a 400 whose detail begins with `There are no longer any instances available`.',
          tags: ['pods'],
          querystring: CreatePodQuery,
          body: wire.CreateRequest,
          response: { 201: ref(PodResponse) },
        },
        config: { permission: PERMISSIONS.writePod, failures: wire.createFailures },
      },
      async (request, reply) => {
        const pod = await change(deps, request.actor, createPod, {
          ...toNewPod(wire, request.body, request.query),
          ...toLifetime(request.query, deps.clock.now()),
        }).catch(wire.refuse);
        return reply.code(201).send(await readPodResponse(deps, wire, pod));
      },
    );
  };
