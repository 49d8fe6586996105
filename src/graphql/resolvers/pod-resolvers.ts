import { Failure } from '../../core/errors.ts';
import type { PodId } from '../../core/ids.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { changeClusterRegistry } from '../../domain/clusters/change-cluster.ts';
import { startPod, stopPod, terminatePod } from '../../domain/pods/act-on-pod.ts';
import { createFirstPod } from '../../domain/pods/create-first-pod.ts';
import { createPod } from '../../domain/pods/create-pod.ts';
import type { Pod, PodCluster } from '../../domain/pods/pod.ts';
import { READ_TIMEOUT_MS } from '../../domain/pods/pod-figures.ts';
import { getPodRow, listPodRows } from '../../domain/pods/pod-store.ts';
import { refuseClusterPod } from '../../domain/pods/refuse-cluster-pod.ts';
import { type PodChange, updatePod } from '../../domain/pods/update-pod.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { ifGone, readInput } from '../inputs.ts';
import { checkBid, coveredByBid } from '../pod-bids.ts';
import { differingFields, type PodEditInput, toPodChange } from '../pod-edit-wire.ts';
import {
  type CpuPodInput,
  type GpuPodInput,
  toCpuPod,
  toGpuPods,
  toPod,
  toPodRuntime,
  toPodTelemetry,
} from '../pod-wire.ts';
import { readVolumes, toNetworkVolume } from './volume-resolvers.ts';

interface PodInput {
  input?: { podId: string } | null;
}

interface Shown {
  pod: Pod;
}

export const podResolvers: Resolvers = {
  Query: {
    pod: async (_: unknown, args: PodInput, call) => {
      const { podId: id } = readInput(args);
      const { userId } = call.permit(PERMISSIONS.readPod({ id }));
      return toPod(await getPodRow(call.deps.pool, userId, id as PodId), call.deps.clock.now());
    },
  },
  User: {
    pods: async (_: unknown, __: unknown, call) => {
      return call.list(await listPods(call), (pod) => toPod(pod, call.deps.clock.now()));
    },
  },
  Pod: {
    runtime: async ({ pod }: Shown, _: unknown, call) => {
      if (pod.status !== 'RUNNING') return null;
      const figures = await call.deps.podFigures.read([pod.id], READ_TIMEOUT_MS.list);
      return toPodRuntime(pod, figures.get(pod.id), call.deps.clock.now());
    },
    latestTelemetry: async ({ pod }: Shown, _: unknown, call) => {
      if (pod.status !== 'RUNNING') return null;
      const figures = await call.deps.podFigures.read([pod.id], READ_TIMEOUT_MS.list);
      return toPodTelemetry(pod, figures.get(pod.id), call.deps.clock.now());
    },
    networkVolume: async ({ pod }: Shown, _: unknown, call) => {
      const id = pod.mounts.network?.volumeId;
      if (id === undefined) return null;
      const volume = (await readVolumes(call)).get(id);
      return volume ? toNetworkVolume(volume) : null;
    },
  },
  Mutation: {
    podFindAndDeployOnDemand: async (_: unknown, args: { input?: GpuPodInput | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({}));
      const pod = await createFirstPod(toGpuPods(input, call.deps.clock.now()), (candidate) =>
        change(call.deps, actor, createPod, candidate),
      );
      return toPod(pod, call.deps.clock.now());
    },
    deployCpuPod: async (_: unknown, args: { input?: CpuPodInput | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({}));
      return toPod(
        await change(call.deps, actor, createPod, toCpuPod(input, call.deps.clock.now())),
        call.deps.clock.now(),
      );
    },
    podRentInterruptable: async (_: unknown, args: { input?: (GpuPodInput & { bidPerGpu: number }) | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({}));
      const candidates = coveredByBid(toGpuPods(input, call.deps.clock.now()), input.bidPerGpu);
      const pod = await createFirstPod(candidates, (candidate) => change(call.deps, actor, createPod, candidate));
      return toPod(pod, call.deps.clock.now());
    },
    podStop: async (_: unknown, args: PodInput, call) => {
      const { podId: id } = readInput(args);
      const pod = await change(call.deps, call.permit(PERMISSIONS.writePod({ id })), stopPod, { id: id as PodId });
      return toPod(pod, call.deps.clock.now());
    },
    podResume: async (_: unknown, args: { input?: { podId: string; gpuCount?: number | null } | null }, call) => {
      const { podId: id, gpuCount } = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({ id }));
      if (gpuCount) await checkGpuCount(call, actor, id as PodId, gpuCount);
      return toPod(await change(call.deps, actor, startPod, { id: id as PodId }), call.deps.clock.now());
    },
    podBidResume: async (
      _: unknown,
      args: { input?: { podId: string; gpuCount?: number | null; bidPerGpu: number } | null },
      call,
    ) => {
      const { podId: id, gpuCount, bidPerGpu } = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({ id }));
      checkBid(await getPodRow(call.deps.pool, actor.userId, id as PodId), bidPerGpu);
      if (gpuCount) await checkGpuCount(call, actor, id as PodId, gpuCount);
      return toPod(await change(call.deps, actor, startPod, { id: id as PodId }), call.deps.clock.now());
    },
    podEditJob: async (_: unknown, args: { input?: PodEditInput | null }, call) => {
      const input = readInput(args);
      const id = input.podId as PodId;
      const actor = call.permit(PERMISSIONS.writePod({ id }));
      const before = await getPodRow(call.deps.pool, actor.userId, id);
      const update = toPodChange(input, before);
      const pod = before.cluster
        ? await editClusterPod(call, before, before.cluster, update)
        : await change(call.deps, actor, updatePod, { id, update });
      return toPod(pod, call.deps.clock.now());
    },
    podTerminate: async (_: unknown, args: PodInput, call) => {
      const { podId: id } = readInput(args);
      const actor = call.permit(PERMISSIONS.writePod({ id }));
      // The text by which clients know that there is nothing left to do.
      await change(call.deps, actor, terminatePod, { id: id as PodId }).catch(ifGone('pod not found to terminate'));
      return null;
    },
  },
};

/** Changes the credentials of the whole cluster. Throws `conflict` if anything else would differ: its pods are alike. */
async function editClusterPod(call: GraphqlCall, pod: Pod, { id }: PodCluster, update: PodChange): Promise<Pod> {
  const actor = call.permit(PERMISSIONS.writePod({ id }));
  const { registryId, ...others } = differingFields(update, pod);
  if (Object.keys(others).length > 0) refuseClusterPod(pod);
  if (registryId !== undefined) await change(call.deps, actor, changeClusterRegistry, { id, registryId });
  return getPodRow(call.deps.pool, actor.userId, pod.id);
}

/** Throws `badRequest` for another GPU count than the pod's: it cannot change. */
async function checkGpuCount(call: GraphqlCall, actor: Actor, id: PodId, gpuCount: number): Promise<void> {
  const count = (await getPodRow(call.deps.pool, actor.userId, id)).gpu?.count ?? 0;
  if (gpuCount !== count)
    throw new Failure('badRequest', `gpuCount: must be ${count}, as the pod has; it cannot change`);
}

function listPods(call: GraphqlCall): Pod[] | Promise<Pod[]> {
  const { userId } = call.permit(PERMISSIONS.readPod({}));
  return call.share('pods', () => listPodRows(call.deps.pool, userId));
}
