import { Failure } from '../../../core/errors.ts';
import type { Semaphore } from '../../../core/flow/semaphore.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import { NoCapacity, type StartOptions, type WorkloadSpec } from '../../runtime.ts';
import { ApiError } from '../api/api-server.ts';
import type { ApiObject } from '../api/objects.ts';
import type { PodServices } from '../network/pod-services.ts';
import { productsOfPool } from '../nodes/nodes.ts';
import type { ClusterView } from './cluster-view.ts';
import { ModelCopy } from './model-copy.ts';
import type { ModelNodes } from './model-nodes.ts';
import { isEnded } from './observed-pod.ts';
import type { PodEvents } from './pod-events.ts';
import { checkEnvironment, environmentSecret, podManifest } from './pod-manifest.ts';
import { checkModels } from './pod-models.ts';
import { nameOf, type PodPlace } from './pod-place.ts';
import type { PodRecord } from './pod-record.ts';
import { PullWatch } from './pull-watch.ts';
import type { RegistrySecrets } from './registry-secrets.ts';
import { StartJudge } from './start-judge.ts';

export interface PodStarter {
  cluster: ClusterView;
  events: PodEvents;
  services: PodServices;
  registries: RegistrySecrets;
  modelNodes: ModelNodes;
  /** Limits concurrent creates: a thousand at once are not faster, and starve other requests. */
  createSlots: Semaphore;
  installation: string;
  /** Pods request no GPUs where they are simulated. */
  areGpusSimulated: boolean;
}

const TRIES = 5;
/** A pod that never ran needs no time to end. */
const NO_GRACE_SECONDS = 1;
/** The namespace's quota; there may be room later. A quota for what the pod does not name is not a shortage. */
const OVER_QUOTA = /exceeded quota/i;
/** Statuses of refusals by an administrator's setting or a policy of the cluster: another try would fail in the same way. */
const FORBIDDEN = new Set([400, 403, 422]);
/** Podyard's own rights, or a namespace that is being removed: nothing is wrong with the workload. */
const NOT_ITS_FAULT = /cannot create resource|is being terminated/i;

/** Starts a workload's pod and waits until it runs. Rejects with a sentence fit for users, leaving no pod behind. */
export async function startPod(
  starter: PodStarter,
  spec: WorkloadSpec,
  options: StartOptions,
  signal: AbortSignal,
): Promise<PodRecord> {
  const { cluster, events } = starter;
  checkEnvironment(spec.env);
  events.begin();
  await cluster.pods.current();
  await Promise.all([starter.registries.ensure(spec), ...spec.mounts.map(({ source }) => findClaim(cluster, source))]);
  const release = await starter.createSlots.acquire();
  const progress = events.follow(nameOf(spec.id));
  const { pod, isNew } = await createPod(starter, spec, signal).catch((error) => {
    release();
    progress.end();
    throw error;
  });
  if (isNew) {
    options.onProgress?.('Pod created');
    options.onCreated?.();
  }
  progress.report(pod.uid, options.onProgress);
  try {
    if (pod.runningSince === null) {
      await Promise.all([createSecret(starter, spec, pod).finally(release), starter.services.publish(spec, pod)]);
    }
    release();
    const models = new ModelCopy(cluster, options);
    const pull = new PullWatch(progress, spec.image, options.onBringing);
    const judge = new StartJudge(spec, cluster.settings.pendingMs, progress, options.onWaiting);
    const running = await cluster.until(pod, (now) => {
      if (signal.aborted) throw stoppedFailure();
      if (now) models.look(now);
      pull.look();
      return judge.judge(now, now ? cluster.lostSince(now) : null);
    });
    if (spec.models && running.nodeName !== null) starter.modelNodes.note(spec.models.ids, running.nodeName);
    return running;
  } catch (error) {
    await cluster.remove(pod, NO_GRACE_SECONDS);
    throw error;
  } finally {
    release();
    progress.end();
  }
}

function stoppedFailure(): Failure {
  return new Failure('conflict', 'Stopped while it started');
}

async function findClaim(cluster: ClusterView, name: string): Promise<void> {
  const path = cluster.path('persistentvolumeclaims', encodeURIComponent(name));
  const claim = await orAbsent(cluster.api.json({ method: 'GET', path }));
  if (!claim) throw new Failure('unavailable', `Storage '${name}' does not exist in the cluster`);
}

/** Removes what is left of an earlier pod of that name first. */
async function createPod(
  starter: PodStarter,
  spec: WorkloadSpec,
  signal: AbortSignal,
): Promise<{ pod: PodRecord; isNew: boolean }> {
  const { cluster, installation } = starter;
  if (signal.aborted) throw stoppedFailure();
  await cluster.pods.current(); // the server may have gone away while this waited
  const place = { ...(await placeOf(starter, spec)), modelNodes: modelNodesOf(starter, spec) };
  checkModels(spec, place);
  const body = podManifest(spec, place);
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

/** The first time the cache is enough: a name in use is found out anyway. */
async function knownPod(cluster: ClusterView, id: string, isFirst: boolean): Promise<PodRecord | undefined> {
  return isFirst ? cluster.pods.get(nameOf(id)) : cluster.findPod(id);
}

/** Returns what a refused pod means: no capacity, the workload’s own fault, or a fault of the cluster that may pass. */
export function refusalOf(error: unknown, installation: string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.status === 409) {
    const text = `Another installation has a pod of that name in the namespace (this one is ${installation})`;
    return new Failure('conflict', text, { cause: error });
  }
  if (error.status === 403 && OVER_QUOTA.test(error.message)) {
    return new NoCapacity(`Over the cluster’s quota: ${error.message}`);
  }
  const isItsFault = FORBIDDEN.has(error.status) && !NOT_ITS_FAULT.test(error.message);
  const kind = isItsFault ? 'unprocessable' : 'unavailable';
  return new Failure(kind, `The cluster refused the pod: ${error.message}`, { cause: error });
}

/** A copy in a folder of the pod's own ends with it. */
function modelNodesOf({ cluster, modelNodes }: PodStarter, { models }: WorkloadSpec): string[] {
  return models && cluster.settings.modelsPath !== null ? modelNodes.having(models.ids) : [];
}

async function placeOf({ cluster, installation, areGpusSimulated }: PodStarter, spec: WorkloadSpec): Promise<PodPlace> {
  const { settings } = cluster;
  if (areGpusSimulated) return { installation, settings, gpuProducts: null };
  if (!spec.gpu) return { installation, settings, gpuProducts: [] };
  await cluster.nodes.current();
  return {
    installation,
    settings,
    gpuProducts: productsOfPool(spec.gpu.pool, cluster.nodes.all(), spec.gpu.gpuTypeId),
  };
}

/** Removes the Secret of an earlier pod whose deletion is still in progress. */
async function createSecret({ cluster, installation }: PodStarter, spec: WorkloadSpec, pod: PodRecord): Promise<void> {
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

/** Returns false when the Secret is this pod's own. */
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

/** Leaves out the server's message, which may contain the Secret. */
function secretRefusal(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const isInvalid = error.status === 422 || error.status === 413;
  const cause = isInvalid ? 'it is too large, or a name in it is invalid' : error.reason;
  return new Failure('unprocessable', `The cluster refused the environment of the workload: ${cause}`);
}
