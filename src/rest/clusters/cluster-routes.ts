import type { Static } from 'typebox';
import type { ClusterId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteCluster, updateCluster } from '../../domain/clusters/change-cluster.ts';
import type { ClusterWithPods } from '../../domain/clusters/cluster.ts';
import { getCluster, getClusterRow, listClusters } from '../../domain/clusters/cluster-store.ts';
import { createCluster, type NewCluster } from '../../domain/clusters/create-cluster.ts';
import { listClusterPodRows } from '../../domain/pods/pod-store.ts';
import { newOf } from '../../http/fields.ts';
import { PodList, toMounts } from '../pods/pod-fields.ts';
import { PodQuery } from '../pods/pod-schemas.ts';
import { type PodWire, readPodResponses, reasonOf } from '../pods/pod-wire.ts';
import { CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  ClusterList,
  ClusterParams,
  ClusterQuery,
  ClusterResponse,
  CreateClusterRequest,
  UpdateClusterRequest,
} from './cluster-schemas.ts';

export const clusterRoutes =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/clusters', {
      schema: {
        operationId: 'listClusters',
        summary: 'List clusters',
        tags: ['clusters'],
        querystring: ClusterQuery,
        response: { 200: ref(ClusterList) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['unprocessable'] },
      handler: async (request) => {
        const clusters = await listClusters(deps.pool, request.actor.userId);
        return { clusters: clusters.map((cluster) => toClusterResponse(cluster, request.query)) };
      },
    });

    app.post('/v2/clusters', {
      schema: {
        operationId: 'createCluster',
        summary: 'Create a cluster',
        description:
          'The pods start once there is room for all of them at once, and wait until then. If they would not fit even alone, the response is a 400 whose detail begins with `There are no longer any instances available`.',
        tags: ['clusters'],
        body: ref(CreateClusterRequest),
        response: { 201: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.writePod },
      handler: async (request, reply) => {
        const cluster = await change(deps, request.actor, createCluster, toNewCluster(request.body));
        return reply.code(201).send(toClusterResponse(cluster));
      },
    });

    app.get('/v2/clusters/:id', {
      schema: {
        operationId: 'getCluster',
        summary: 'Get a cluster',
        tags: ['clusters'],
        params: ClusterParams,
        querystring: ClusterQuery,
        response: { 200: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
      handler: async (request) => {
        const cluster = await getCluster(deps.pool, request.actor.userId, request.params.id as ClusterId);
        return toClusterResponse(cluster, request.query);
      },
    });

    app.patch('/v2/clusters/:id', {
      schema: {
        operationId: 'updateCluster',
        summary: 'Rename a cluster',
        description: 'Nothing else of a cluster can change. Its pods keep their names.',
        tags: ['clusters'],
        params: ClusterParams,
        body: ref(UpdateClusterRequest),
        response: { 200: ref(ClusterResponse) },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
      handler: async (request) => {
        const cluster = await change(deps, request.actor, updateCluster, {
          id: request.params.id as ClusterId,
          change: request.body,
        });
        return toClusterResponse(cluster);
      },
    });

    app.delete('/v2/clusters/:id', {
      schema: {
        operationId: 'deleteCluster',
        summary: 'Delete a cluster',
        description: 'Terminates all its pods with their persistent storage, and removes its network.',
        tags: ['clusters'],
        params: ClusterParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.deletePod, failures: ['notFound'] },
      handler: async (request, reply) => {
        await change(deps, request.actor, deleteCluster, { id: request.params.id as ClusterId });
        return reply.code(204).send();
      },
    });

    app.get('/v2/clusters/:id/pods', {
      schema: {
        operationId: 'listClusterPods',
        summary: 'List the pods of a cluster',
        description: 'By rank.',
        tags: ['clusters'],
        params: ClusterParams,
        querystring: PodQuery,
        response: { 200: ref(PodList) },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
      handler: async (request) => {
        const { id } = await getClusterRow(deps.pool, request.actor.userId, request.params.id as ClusterId);
        const pods = await listClusterPodRows(deps.pool, request.actor.userId, id);
        const answers = await readPodResponses(deps, wire, pods);
        return { pods: answers.map((answer, n) => ({ ...answer, ...reasonOf(pods[n]!, request.query) })) };
      },
    });
  };

/** Fills in the defaults of a create, except those that a template may provide. */
function toNewCluster(body: Static<typeof CreateClusterRequest>): NewCluster {
  const { name, type, compute, mounts, dataCenterIds = [], templateId = null, startSsh, startJupyter } = body;
  return {
    name,
    type,
    gpuTypeId: compute.gpuTypeId,
    gpusPerPod: compute.gpuCountPerPod,
    podCount: compute.podCount,
    ...newOf(CONTAINER_FIELDS, body),
    ...(mounts === undefined ? {} : { mounts: toMounts(mounts) }),
    dataCenterIds,
    templateId,
    ...(startSsh === undefined ? {} : { startSsh }),
    ...(startJupyter === undefined ? {} : { startJupyter }),
  };
}

/** Unknown values are left out; `include=REASON` adds `reason`. */
function toClusterResponse(cluster: ClusterWithPods, query: { include?: string } = {}): Static<typeof ClusterResponse> {
  const { podId, status, sshEndpoint } = cluster.primary;
  return {
    id: cluster.id,
    name: cluster.name,
    type: cluster.type,
    compute: {
      gpuTypeId: cluster.gpuTypeId,
      gpuCountPerPod: cluster.gpusPerPod,
      podCount: cluster.podCount,
    },
    pods: { total: cluster.podCount, byStatus: cluster.podsByStatus },
    createdAt: cluster.createdAt.toISOString(),
    ...(cluster.templateId !== null && { template: cluster.templateId }),
    ...(cluster.dataCenterId !== null && { dataCenterId: cluster.dataCenterId }),
    ...(cluster.cidr !== null && { network: { cidr: cluster.cidr } }),
    primary: { podId, status, ...(sshEndpoint !== null && { sshEndpoint }) },
    ...(includes(query, 'REASON') && { reason: cluster.phaseReason }),
  };
}
