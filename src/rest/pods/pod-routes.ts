import type { PodId } from '../../core/ids.ts';
import type { Permission } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { POD_ACTIONS, terminatePod } from '../../domain/pods/act-on-pod.ts';
import { createPod } from '../../domain/pods/create-pod.ts';
import { getPodRow, listPodRows } from '../../domain/pods/pod-store.ts';
import { updatePod } from '../../domain/pods/update-pod.ts';
import { eventStreamSchema, sendFeed } from '../live/event-stream.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { PodList, PodResponse, toPodChange, UpdatePodRequest } from './pod-fields.ts';
import { toLifetime } from './pod-lifetime-wire.ts';
import { CreatePodQuery, PodActionRequest, PodListQuery, PodParams, PodQuery } from './pod-schemas.ts';
import { type PodWire, readPodResponse, readPodResponses, reasonOf, toNewPod } from './pod-wire.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the current `pods`, as the list returns them with `include=REASON`. Live figures change every second.',
  ': stream begins\n\nevent: snapshot\ndata: {"pods":[]}\n\n',
);

export const podRoutes =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/pods', {
      schema: {
        operationId: 'listPods',
        summary: 'List pods',
        tags: ['pods'],
        querystring: PodListQuery,
        response: { 200: ref(PodList) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['unprocessable'] },
      handler: async (request) => {
        const of = request.query.includeClusterPods ? 'own-and-clusters' : 'own';
        const pods = await listPodRows(deps.pool, request.actor.userId, of);
        const answers = await readPodResponses(deps, wire, pods);
        return { pods: answers.map((answer, n) => ({ ...answer, ...reasonOf(pods[n]!, request.query) })) };
      },
    });

    app.get('/v2/pods/live', {
      exposeHeadRoute: false, // a HEAD request would keep watching
      schema: {
        operationId: 'watchPods',
        summary: 'Watch all pods',
        description: 'Podyard only. Streams the current state of all pods of the account.',
        tags: ['podyard'],
        response: { 200: SNAPSHOTS },
      },
      // It covers every pod, with their env: a key restricted to some is not enough.
      config: { permission: (): Permission => ({ area: 'pods', access: 'read', isSecret: true }) },
      handler: async (request, reply) => {
        const { userId } = request.actor;
        await deps.live.openings.enter(userId);
        const feed = deps.live.watch('pods', userId, () => async () => {
          const rows = await listPodRows(deps.pool, userId);
          const pods = await readPodResponses(deps, wire, rows);
          return JSON.stringify({ pods: pods.map((pod, n) => ({ ...pod, reason: rows[n]!.statusReason })) });
        });
        return sendFeed(deps, reply, request.actor, feed);
      },
    });

    app.post('/v2/pods', {
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
      handler: async (request, reply) => {
        const pod = await change(deps, request.actor, createPod, {
          ...toNewPod(wire, request.body, request.query),
          ...toLifetime(request.query, deps.clock.now()),
        }).catch(wire.refuse);
        return reply.code(201).send(await readPodResponse(deps, wire, pod));
      },
    });

    app.get('/v2/pods/:id', {
      schema: {
        operationId: 'getPod',
        summary: 'Get a pod',
        tags: ['pods'],
        params: PodParams,
        querystring: PodQuery,
        response: { 200: ref(PodResponse) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
      handler: async (request) => {
        const pod = await getPodRow(deps.pool, request.actor.userId, request.params.id as PodId);
        return { ...(await readPodResponse(deps, wire, pod)), ...reasonOf(pod, request.query) };
      },
    });

    app.patch('/v2/pods/:id', {
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
      handler: async (request) => {
        const { actor, body, params, query } = request;
        const pod = await change(deps, actor, updatePod, {
          id: params.id as PodId,
          update: (before) => editEnv(toPodChange(body), before, query),
        }).catch(wire.refuse);
        return readPodResponse(deps, wire, pod);
      },
    });

    app.delete('/v2/pods/:id', {
      schema: {
        operationId: 'deletePod',
        summary: 'Terminate a pod',
        description: 'Deletes its container and its persistent storage. A network volume is only detached.',
        tags: ['pods'],
        params: PodParams,
        response: { 204: noContent('Terminated.') },
      },
      config: { permission: PERMISSIONS.deletePod, failures: ['notFound', 'conflict'] },
      handler: async (request, reply) => {
        await change(deps, request.actor, terminatePod, { id: request.params.id as PodId });
        return reply.code(204).send();
      },
    });

    app.post('/v2/pods/:id/action', {
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
      handler: async (request, reply) => {
        const { actor, params, body } = request;
        const pod = await change(deps, actor, POD_ACTIONS[body.action], { id: params.id as PodId });
        if (body.action === 'terminate') return reply.code(204).send();
        return reply.send(await readPodResponse(deps, wire, pod));
      },
    });
  };
