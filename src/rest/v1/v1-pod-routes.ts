import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { PodId } from '../../core/ids.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { checkPermission } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { POD_ACTIONS, terminatePod } from '../../domain/pods/act-on-pod.ts';
import { createFirstPod } from '../../domain/pods/create-first-pod.ts';
import { createPod } from '../../domain/pods/create-pod.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { getPodRow, listPodRows } from '../../domain/pods/pod-store.ts';
import { updatePod } from '../../domain/pods/update-pod.ts';
import { listTemplateRows } from '../../domain/templates/template-store.ts';
import { listVolumeRows } from '../../domain/volumes/volume-store.ts';
import { PERMISSIONS, type RestDeps } from '../shared/rest-app.ts';
import { noContent, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { PodCreateInput, PodUpdateInput, toNewPods, toPodChange } from './v1-pod-inputs.ts';
import { DESIRED, showMachine, showPod, V1Pod, V1Pods } from './v1-pods.ts';
import { anyOf, flag, IdParams, UPDATES, type V1Route } from './v1-route.ts';
import { showTemplate } from './v1-templates.ts';
import { showVolume } from './v1-volumes.ts';

const tags = ['pods'];
const record = { 200: ref(V1Pod) };

const INCLUDES = {
  includeMachine: flag('Adds `machine`.'),
  includeNetworkVolume: flag('Adds `networkVolume`, if there is one.'),
  includeSavingsPlans: flag('Taken and ignored: there are none.'),
  includeTemplate: flag('Adds `template`, if there is one.'),
  includeWorkers: flag('In a list it is a 400: workers are listed with their endpoint.'),
};
const one = (description: string) => Type.Optional(Type.String({ description }));

const PodQuery = Type.Object(INCLUDES);
const PodsQuery = Type.Object({
  ...INCLUDES,
  computeType: Type.Optional(stringEnum(['GPU', 'CPU'])),
  desiredStatus: Type.Optional(stringEnum(DESIRED)),
  cpuFlavorId: anyOf('Any of these CPU flavors.'),
  dataCenterId: anyOf('In any of these data centers.'),
  gpuTypeId: anyOf('Any of these GPU types.'),
  endpointId: one('It is a 400: workers are listed with their endpoint.'),
  id: one('Only this pod.'),
  imageName: one('Only pods with this image.'),
  name: one('Only pods with this name.'),
  networkVolumeId: one('Only pods with this network volume.'),
  templateId: one('Only pods made from this template.'),
});

const ACTIONS = {
  start: { operationId: 'StartPod', act: 'start' as const },
  stop: { operationId: 'StopPod', act: 'stop' as const },
  reset: { operationId: 'ResetPod', act: 'restart' as const },
  restart: { operationId: 'RestartPod', act: 'restart' as const },
};

export const podRoutes: V1Route = (app, deps) => {
  app.get('/v1/pods', {
    schema: { operationId: 'ListPods', tags, querystring: PodsQuery, response: { 200: ref(V1Pods) } },
    config: { permission: PERMISSIONS.readPod, failures: ['badRequest'] },
    handler: async ({ actor, query }) => {
      if (query.includeWorkers || query.endpointId !== undefined) {
        const field = query.endpointId === undefined ? 'includeWorkers' : 'endpointId';
        const where = `GET /v1/endpoints/${query.endpointId ?? '{id}'}?includeWorkers=true`;
        throw new Failure('badRequest', `${field}: workers are not listed among pods: use ${where}`);
      }
      const pods = await listPodRows(deps.pool, actor.userId);
      return show(
        deps,
        actor,
        pods.filter((pod) => matches(pod, query)),
        query,
      );
    },
  });
  app.post('/v1/pods', {
    schema: { operationId: 'CreatePod', tags, body: ref(PodCreateInput), response: { 201: ref(V1Pod) } },
    config: { permission: PERMISSIONS.writePod },
    handler: async ({ actor, body }, reply) => {
      const candidates = toNewPods(body, await deps.capacity.read());
      const pod = await createFirstPod(candidates, (candidate) => change(deps, actor, createPod, candidate));
      const made = body.locked ? await change(deps, actor, updatePod, { id: pod.id, update: { isLocked: true } }) : pod;
      return reply.code(201).send(showPod(made));
    },
  });
  app.get('/v1/pods/:id', {
    schema: { operationId: 'GetPod', tags, params: IdParams, querystring: PodQuery, response: record },
    config: { permission: PERMISSIONS.readPod, failures: ['notFound'] },
    handler: async ({ actor, params, query }) => {
      const pod = await getPodRow(deps.pool, actor.userId, params.id as PodId);
      return (await show(deps, actor, [pod], query))[0]!;
    },
  });
  for (const [method, suffix, operationId] of UPDATES) {
    app.route({
      method,
      url: `/v1/pods/:id${suffix}`,
      schema: {
        operationId: `${operationId}Pod`,
        tags,
        params: IdParams,
        body: ref(PodUpdateInput),
        response: record,
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
      handler: async ({ actor, params, body }) => {
        const id = (params as { id: string }).id as PodId;
        const before = await getPodRow(deps.pool, actor.userId, id);
        return showPod(
          await change(deps, actor, updatePod, {
            id,
            update: toPodChange(body as Static<typeof PodUpdateInput>, before),
          }),
        );
      },
    });
  }
  for (const [action, { operationId, act }] of Object.entries(ACTIONS)) {
    app.post(`/v1/pods/:id/${action}`, {
      schema: { operationId, tags, params: IdParams, response: record },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
      handler: async ({ actor, params }) =>
        showPod(await change(deps, actor, POD_ACTIONS[act], { id: params.id as PodId })),
    });
  }
  app.delete('/v1/pods/:id', {
    schema: { operationId: 'DeletePod', tags, params: IdParams, response: { 204: noContent('Terminated.') } },
    config: { permission: PERMISSIONS.deletePod, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, terminatePod, { id: params.id as PodId });
      return reply.code(204).send();
    },
  });
};

function matches(pod: Pod, query: Static<typeof PodsQuery>): boolean {
  const isIn = (list: readonly string[] | undefined, value: string | undefined) =>
    list === undefined || (value !== undefined && list.includes(value));
  const isSame = (wanted: string | undefined, value: string | null | undefined) =>
    wanted === undefined || wanted === value;
  return (
    isSame(query.computeType, pod.gpu ? 'GPU' : 'CPU') &&
    isSame(query.desiredStatus, showPod(pod).desiredStatus) &&
    isIn(query.cpuFlavorId, pod.cpu?.id) &&
    isIn(query.dataCenterId, pod.dataCenterId) &&
    isIn(query.gpuTypeId, pod.gpu?.id) &&
    isSame(query.id, pod.id) &&
    isSame(query.imageName, pod.image) &&
    isSame(query.name, pod.name) &&
    isSame(query.networkVolumeId, pod.mounts.network?.volumeId) &&
    isSame(query.templateId, pod.templateId)
  );
}

/** Returns pods with what the query includes. Throws `forbidden` for records that the key may not read. */
async function show(
  deps: RestDeps,
  actor: Actor,
  pods: readonly Pod[],
  query: Static<typeof PodQuery>,
): Promise<Static<typeof V1Pod>[]> {
  if (query.includeTemplate) checkPermission(actor, PERMISSIONS.readTemplate({}));
  if (query.includeNetworkVolume) checkPermission(actor, PERMISSIONS.readVolume({}));
  const templates = query.includeTemplate ? await listTemplateRows(deps.pool, actor.userId) : [];
  const volumes = query.includeNetworkVolume ? await listVolumeRows(deps.pool, actor.userId) : [];
  return pods.map((pod) => {
    const template = templates.find(({ id }) => id === pod.templateId);
    const volume = volumes.find(({ id }) => id === pod.mounts.network?.volumeId);
    return {
      ...showPod(pod),
      ...(query.includeMachine && { machine: showMachine(pod) }),
      ...(volume && { networkVolume: showVolume(volume) }),
      ...(template && { template: showTemplate(template) }),
    };
  });
}
