import { Failure } from '../../core/errors.ts';
import { NoCapacity, type StartOptions, type WorkloadSpec } from '../runtime.ts';
import { ApiError, isRefusal } from './api-server.ts';
import { productsOfPool } from './cluster-capacity.ts';
import type { ClusterView } from './cluster-view.ts';
import type { ApiObject } from './objects.ts';
import { isEnded } from './observed-pod.ts';
import type { PodEvents } from './pod-events.ts';
import { checkEnvironment, environmentSecret, type PodPlace, podManifest } from './pod-manifest.ts';
import type { PodRecord } from './pod-record.ts';
import type { PodServices } from './pod-services.ts';
import type { RegistrySecrets } from './registry-secrets.ts';
import type { Slots } from './slots.ts';
import { StartJudge } from './start-judge.ts';

export interface PodStarter {
  cluster: ClusterView;
  events: PodEvents;
  services: PodServices;
  registries: RegistrySecrets;
  /** A thousand starts at once are no faster, and keep everybody else waiting. */
  begins: Slots;
  installation: string;
  /** Where they are simulated, pods ask for none. */
  areGpusSimulated: boolean;
}

const TRIES = 5;
/** Nobody waits for the end of what never began. */
const NO_GRACE_SECONDS = 1;
/** What a quota of the namespace or of a node says; there may be room later. */
const NO_ROOM = /exceeded quota|quota/i;

/** From a description to a pod that runs. Rejects with a sentence fit for users, and then there is no pod. */
export async function startPod(
  starter: PodStarter,
  spec: WorkloadSpec,
  tell: StartOptions,
  signal: AbortSignal,
): Promise<PodRecord> {
  const { cluster, events } = starter;
  checkEnvironment(spec.env);
  events.begin();
  await cluster.pods.current();
  await Promise.all([starter.registries.ensure(spec), ...spec.mounts.map(({ source }) => findClaim(cluster, source))]);
  const isBegun = await starter.begins.take();
  const { pod, isNew } = await makePod(starter, spec, signal).catch((error) => {
    isBegun();
    throw error;
  });
  if (isNew) {
    tell.onProgress?.('Pod created');
    tell.onCreated?.();
  }
  const story = events.follow(pod.uid, tell.onProgress);
  try {
    if (pod.runningSince === null) {
      await Promise.all([makeSecret(starter, spec, pod).finally(isBegun), starter.services.publish(spec, pod)]);
    }
    isBegun();
    const judge = new StartJudge(spec, cluster.settings.pendingMs, story, tell.onWaiting);
    return await cluster.until(pod, (now) => {
      if (signal.aborted) throw wasStopped();
      return judge.judge(now, now ? cluster.lostSince(now) : null);
    });
  } catch (error) {
    await cluster.remove(pod, NO_GRACE_SECONDS);
    throw error;
  } finally {
    isBegun();
    story.end();
  }
}

function wasStopped(): Failure {
  return new Failure('conflict', 'It was stopped while it started');
}

async function findClaim(cluster: ClusterView, name: string): Promise<void> {
  const path = cluster.path('persistentvolumeclaims', encodeURIComponent(name));
  try {
    await cluster.api.json({ method: 'GET', path });
  } catch (error) {
    if (!isRefusal(error, 404)) throw error;
    throw new Failure('unavailable', `There is no storage '${name}' in the cluster`, { cause: error });
  }
}

/** What is left of a workload of that name makes room first. */
async function makePod(
  starter: PodStarter,
  spec: WorkloadSpec,
  signal: AbortSignal,
): Promise<{ pod: PodRecord; isNew: boolean }> {
  const { cluster, installation } = starter;
  if (signal.aborted) throw wasStopped();
  await cluster.pods.current(); // it may have gone away meanwhile
  const body = podManifest(spec, await placeOf(starter, spec));
  for (let left = TRIES; ; left--) {
    const known = await knownPod(cluster, spec.id, left === TRIES);
    if (known && !isEnded(known) && !known.isDeleting && cluster.lostSince(known) === null) {
      return { pod: known, isNew: false };
    }
    if (known) await cluster.remove(known, NO_GRACE_SECONDS);
    try {
      const object = await cluster.api.json<ApiObject>({ method: 'POST', path: cluster.path('pods'), body });
      return { pod: cluster.pods.put(object), isNew: true };
    } catch (error) {
      if (left > 1 && isRefusal(error, 409)) continue;
      throw refusalOf(error, installation);
    }
  }
}

/** At first what is known is enough: a name that is taken is found out anyway. */
async function knownPod(cluster: ClusterView, id: string, isFirst: boolean): Promise<PodRecord | undefined> {
  return isFirst ? cluster.pods.get(`podyard-${id}`) : cluster.findPod(id);
}

function refusalOf(error: unknown, installation: string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.status === 409) {
    const text = `Another installation than ${installation} has a pod of that name in the namespace`;
    return new Failure('conflict', text, { cause: error });
  }
  if (error.status === 403 && NO_ROOM.test(error.message))
    return new NoCapacity(`The cluster has no room: ${error.message}`);
  const kind = error.status === 422 ? 'unprocessable' : 'unavailable';
  return new Failure(kind, `The cluster refused the pod: ${error.message}`, { cause: error });
}

async function placeOf({ cluster, installation, areGpusSimulated }: PodStarter, spec: WorkloadSpec): Promise<PodPlace> {
  const { settings } = cluster;
  if (areGpusSimulated) return { installation, settings, gpuProducts: null };
  if (!spec.gpu) return { installation, settings, gpuProducts: [] };
  await cluster.nodes.current();
  return { installation, settings, gpuProducts: productsOfPool(spec.gpu.pool, cluster.nodes.all()) };
}

/** One of a pod before this one, whose removal is still under way, makes room. */
async function makeSecret({ cluster, installation }: PodStarter, spec: WorkloadSpec, pod: PodRecord): Promise<void> {
  const body = environmentSecret(spec, installation, pod.uid);
  for (let left = TRIES; ; left--) {
    try {
      await cluster.api.json({ method: 'POST', path: cluster.path('secrets'), body });
      return;
    } catch (error) {
      if (!isRefusal(error, 409) || left === 1) throw secretRefusal(error);
      if (await removeOld(cluster, pod)) continue;
      return;
    }
  }
}

/** False when the Secret is this pod's own. */
async function removeOld(cluster: ClusterView, pod: PodRecord): Promise<boolean> {
  const path = cluster.path('secrets', pod.key);
  try {
    const { metadata } = await cluster.api.json<ApiObject>({ method: 'GET', path });
    if (metadata.ownerReferences?.some(({ uid }) => uid === pod.uid)) return false;
    await cluster.api.json({ method: 'DELETE', path, body: { preconditions: { uid: metadata.uid } } });
  } catch (error) {
    if (!isRefusal(error, 404) && !isRefusal(error, 409)) throw error;
  }
  return true;
}

/** The server's words might hold what the Secret does. */
function secretRefusal(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const why =
    error.status === 422 || error.status === 413 ? 'it is too large, or a name in it cannot be' : error.reason;
  return new Failure('unprocessable', `The cluster refused the environment of the workload: ${why}`);
}
