import { Failure } from '../../core/errors.ts';
import type { ClusterId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { deleteCluster } from '../../domain/clusters/change-cluster.ts';
import type { Cluster } from '../../domain/clusters/cluster.ts';
import { getClusterRow, listClusters } from '../../domain/clusters/cluster-store.ts';
import { createCluster } from '../../domain/clusters/create-cluster.ts';
import { listPodsOnNetwork } from '../../domain/clusters/list-pods-on-network.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { listPodRows } from '../../domain/pods/pod-store.ts';
import { type ClusterInput, toCluster, toNewCluster } from '../cluster-wire.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { CodedFailure } from '../graphql-errors.ts';
import { readInput, readText } from '../inputs.ts';
import { toPod } from '../pod-wire.ts';

interface Shown {
  cluster: Cluster;
  /** Just created: its pods are shown once they have addresses. */
  isNew?: boolean;
}

interface IdInput {
  input?: { id: string } | null;
}

/** The code by which clients know that a cluster is gone. */
const GONE = 'Cluster not found';

export const clusterResolvers: Resolvers = {
  User: {
    clusters: async (_: unknown, __: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readPod({}));
      return call.list(await listClusters(call.deps.pool, userId), toCluster);
    },
    cluster: async (_: unknown, args: IdInput, call) => {
      const { id } = readInput(args);
      const { userId } = call.permit(PERMISSIONS.readPod({ id }));
      try {
        return toCluster(await getClusterRow(call.deps.pool, userId, id as ClusterId));
      } catch (error) {
        if (isGone(error)) return null;
        throw error;
      }
    },
  },
  Cluster: {
    pods: async ({ cluster, isNew }: Shown, _: unknown, call) => {
      const pods = isNew
        ? await listPodsOnNetwork(call.deps.pool, cluster)
        : ((await podsOfClusters(call, cluster)).get(cluster.id) ?? []);
      return call.list(pods, (pod) => toPod(pod, call.deps.clock.now()));
    },
  },
  Mutation: {
    createCluster: async (_: unknown, args: { input?: ClusterInput | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({}));
      const cluster = await change(call.deps, actor, createCluster, toNewCluster(input));
      return { ...toCluster(cluster), isNew: true };
    },
    deleteCluster: async (
      _: unknown,
      args: { input?: { id?: string | null; clusterId?: string | null } | null },
      call,
    ) => {
      const { id: given, clusterId } = readInput(args);
      const id = readText(given ?? clusterId, 'id');
      const actor = call.permit(PERMISSIONS.writePod({ id }));
      await change(call.deps, actor, deleteCluster, { id: id as ClusterId }).catch((error) => {
        throw isGone(error) ? new CodedFailure('notFound', GONE) : error;
      });
      return true;
    },
  },
};

/** Reads the pods of all the caller's clusters, once per query. */
async function podsOfClusters(call: GraphqlCall, { userId }: Cluster): Promise<Map<string | undefined, Pod[]>> {
  return call.share('pods of clusters', async () =>
    Map.groupBy(await listPodRows(call.deps.pool, userId, 'clusters'), ({ cluster }) => cluster?.id),
  );
}

function isGone(error: unknown): boolean {
  return error instanceof Failure && error.kind === 'notFound';
}
