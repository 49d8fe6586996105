import { isDeepStrictEqual } from 'node:util';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import { isReported, messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import { quoteOutput } from '../../domain/logs/quote-output.ts';
import {
  type ControlledPod,
  listControlledPods,
  markPodEnded,
  markPodGone,
  markPodPhase,
  markPodRunning,
  placeReason,
} from '../../domain/pods/pod-lifecycle.ts';
import { NoCapacity, type Observed } from '../../runtimes/runtime.ts';
import { nextStartAt } from '../../scaling/start-record.ts';
import { readLastOutput } from '../workloads/read-last-output.ts';
import { WorkloadTasks } from '../workloads/workload-tasks.ts';
import { decidePod, type PodAction } from './decide-pod.ts';
import { needsChange, type PodStart, startPod } from './start-pod.ts';

/** While there are pods, and otherwise. */
const TICK_MS = 2_000;
const IDLE_TICK_MS = 30_000;
/** How long a container may take to stop; programs that ignore SIGTERM always take all of it. */
const MAX_GRACE_MS = 10_000;
/** A container that ran this long was not in a crash loop, however it ended. */
const HEALTHY_MS = 600_000;
/** Starts without a pause of a pod that ends by itself. */
const FREE_STARTS = 3;
/** The pause after a start that found no capacity. */
const UNPLACED_PAUSE_MS = 5_000;
/** How long the log of a stopped or ended container may take to arrive. */
const STOPPED_LOG_TIMEOUT_MS = 500;
const ENDED_LOG_TIMEOUT_MS = 2_000;

interface Deps extends PodStart {
  clock: Clock;
  /** Measures intervals. */
  monotonic: Clock;
  logger: Logger;
  graceMs: number;
}

/**
 * Reconciles containers with the pods that are wanted: starts, stops, adopts after a restart, starts again what ended by
 * itself, removes orphans and the storage of terminated pods. The runtime's list is the truth; hints only wake the loop.
 */
export class PodRunner {
  readonly #deps: Deps;
  readonly #tasks: WorkloadTasks;
  readonly #loop: Loop;
  /** The revisions that are being started, by pod. */
  readonly #starts = new Map<string, number>();
  /** As last read. */
  #podIds = new Set<string>();
  #listedAt = Number.NEGATIVE_INFINITY;
  #hasEvents = true;
  /** The earliest end of a pause, wall clock. */
  #pauseEndsAt = Number.POSITIVE_INFINITY;

  constructor({ monotonic = monotonicClock, ...deps }: Omit<Deps, 'monotonic'> & { monotonic?: Clock }) {
    this.#deps = { ...deps, monotonic, graceMs: Math.min(deps.graceMs, MAX_GRACE_MS) };
    this.#loop = new Loop({
      name: 'run-pods',
      tickMs: IDLE_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [
        deps.bus.subscribe('pod', wake),
        deps.bus.onGap(wake),
        deps.runtime.watch(
          (id) => this.#onEvent(id),
          () => this.#onReturn(),
        ),
      ],
    });
    this.#tasks = new WorkloadTasks({ logger: deps.logger, onEnd: () => this.#listSoon() });
  }

  start(): void {
    this.#hasEvents = true;
    this.#loop.start();
  }

  /** Ends the loop and waits a moment for actions in progress; the pods keep running. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const id of this.#starts.keys()) this.#tasks.cancel(id); // the next leader starts them again
    await this.#tasks.settle();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Stops all containers and waits until they are gone. The pods stay wanted: the next server starts them again. */
  async stopAll(): Promise<void> {
    const { pool, runtime, graceMs } = this.#deps;
    const pods = new Map((await listControlledPods(pool)).map((pod) => [pod.id as string, pod]));
    const stop = async ({ id }: Observed) => {
      await runtime.stop(id, graceMs);
      const pod = pods.get(id);
      if (pod?.phase === 'RUNNING') await this.#recordEnd(pod, 'STARTING', { reason: 'the server was stopped' });
    };
    await Promise.all((await this.#listPods()).map(stop));
  }

  /** Ends the container of a pod that broke a limit, for good: the pod becomes ERROR. Does nothing if it has another one. */
  end(id: string, revision: number, reason: string): void {
    if (this.#tasks.isBusy(id)) return;
    this.#tasks.run(id, 'stop', async () => {
      const pod = (await listControlledPods(this.#deps.pool)).find((one) => one.id === id);
      const isThat = pod?.wanted === 'RUN' && pod.phase === 'RUNNING' && pod.phaseRevision === revision;
      if (!pod || !isThat || pod.revision !== revision) return;
      await this.#stopContainer(pod, `stops: ${reason}`);
      await this.#recordEnd(pod, 'ERROR', { reason });
    });
  }

  /** Others are workers, of which thousands may come and go, or orphans, which the next tick finds. */
  #onEvent(workloadId: string): void {
    if (this.#podIds.has(workloadId)) this.#listSoon();
  }

  /** The runtime was away, and what failed meanwhile is tried again at once. */
  #onReturn(): void {
    this.#tasks.retry();
    this.#hasEvents = true;
    this.#loop.retry();
  }

  #listSoon(): void {
    this.#hasEvents = true;
    this.#loop.wake();
  }

  async #run(): Promise<NextRun | undefined> {
    const now = this.#deps.clock.now();
    const mark = this.#tasks.mark();
    const workloads = await this.#listIfDue(now);
    const pods = await listControlledPods(this.#deps.pool); // after the list, so that every container in it has its row here
    this.#podIds = new Set(pods.map(({ id }) => id));
    this.#cancelSupersededStarts(pods);
    if (workloads) {
      this.#removeOrphans(workloads, mark);
      this.#pauseEndsAt = Number.POSITIVE_INFINITY;
    }
    for (const pod of pods) this.#decide(pod, workloads, mark, now);
    return pods.length === 0 ? undefined : { inMs: Math.min(TICK_MS, this.#pauseEndsAt - now) };
  }

  async #listIfDue(now: number): Promise<ReadonlyMap<string, Observed> | undefined> {
    const elapsedMs = this.#deps.monotonic.now() - this.#listedAt;
    if (!this.#hasEvents && now < this.#pauseEndsAt && elapsedMs < TICK_MS) return undefined;
    this.#hasEvents = false;
    try {
      const listed = await this.#listPods();
      this.#listedAt = this.#deps.monotonic.now();
      return new Map(listed.map((workload) => [workload.id, workload]));
    } catch (error) {
      this.#hasEvents = true; // what happened is still to be seen
      throw error;
    }
  }

  async #listPods(): Promise<Observed[]> {
    return (await this.#deps.runtime.list()).filter((workload) => workload.kind === 'pod');
  }

  #removeOrphans(workloads: ReadonlyMap<string, Observed>, mark: number): void {
    for (const id of workloads.keys()) {
      if (this.#podIds.has(id) || this.#tasks.isTouchedSince(id, mark)) continue;
      this.#deps.logger.info({ podId: id }, 'removing orphaned container');
      this.#tasks.run(id, 'removal of an orphan', () => this.#deps.runtime.stop(id, 0));
    }
  }

  #cancelSupersededStarts(pods: readonly ControlledPod[]): void {
    for (const pod of pods) {
      const revision = this.#starts.get(pod.id);
      if (revision !== undefined && (pod.wanted !== 'RUN' || pod.revision !== revision)) this.#tasks.cancel(pod.id);
    }
  }

  /** Decides the next step of a pod and hands it on. */
  #decide(pod: ControlledPod, workloads: ReadonlyMap<string, Observed> | undefined, mark: number, now: number): void {
    if (this.#tasks.isTouchedSince(pod.id, mark)) return; // its row may be from before, too; the end of the task wakes the loop
    const workload = workloads?.get(pod.id);
    const action = decidePod(pod, workloads ? (workload?.state ?? 'absent') : 'unknown', now);
    if (action.do === 'nothing') return;
    if (action.do === 'wait') this.#pauseEndsAt = Math.min(this.#pauseEndsAt, action.untilMs);
    else if (action.do === 'adopt' && isUpToDate(pod, workload!)) this.#deps.logs.follow(pod.id);
    else this.#tasks.run(pod.id, action.do, (signal) => this.#act(action, pod, workload, signal));
  }

  async #act(
    action: PodAction,
    pod: ControlledPod,
    workload: Observed | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    switch (action.do) {
      case 'start':
        return this.#start(pod, signal);
      case 'adopt':
        return this.#adopt(pod, workload!);
      case 'finalize':
        return this.#finalize(pod, workload);
      case 'stop':
        await this.#stopContainer(pod, `stops: ${pod.wantedReason ?? 'that was asked for'}`);
        return this.#recordEnd(pod, 'EXITED');
      case 'terminate':
        return this.#terminate(pod);
    }
  }

  async #start(pod: ControlledPod, signal: AbortSignal): Promise<void> {
    const { pool, logger, runtime, bus } = this.#deps;
    if (pod.phaseRevision !== pod.revision) await this.#stopContainer(pod, 'stops: a new container takes its place');
    else await runtime.stop(pod.id, 0); // what an interrupted start may have left
    if (!(await markPodPhase(pool, pod, 'PROVISIONING'))) return;
    bus.publish('pod', pod.id);
    this.#starts.set(pod.id, pod.revision);
    try {
      const isRunning = await startPod(this.#deps, pod, signal);
      if (isRunning) logger.info({ userId: pod.userId, podId: pod.id, image: pod.image }, 'pod started');
    } catch (error) {
      await this.#handleFailure(pod, error, signal.aborted);
    } finally {
      this.#starts.delete(pod.id);
      bus.publish('pod', pod.id);
    }
  }

  /** Makes the pod an ERROR when its image or its settings have to change. Anything else may pass, so the start is made again. */
  async #handleFailure(pod: ControlledPod, error: unknown, isCancelled: boolean): Promise<void> {
    if (isCancelled) return; // the next run does what is wanted instead
    const { logs, logger, clock } = this.#deps;
    const { id: podId, userId, image } = pod;
    const reason = messageOf(error);
    const now = clock.now();
    if (error instanceof NoCapacity) {
      const notBefore = new Date(now + UNPLACED_PAUSE_MS);
      return this.#putBack(pod, placeReason(reason), { failures: pod.failures, notBefore });
    }
    if (needsChange(error)) {
      logs.system(podId, `could not be started: ${reason}`);
      logger.warn({ userId, podId, image, err: error }, 'pod start failed');
      await this.#deps.runtime.stop(podId, 0);
      return this.#recordEnd(pod, 'ERROR', { reason });
    }
    const failures = pod.failures + 1;
    const notBefore = new Date(nextStartAt(failures, now));
    const pauseMs = notBefore.getTime() - now;
    if (!isReported(error))
      logger.warn({ userId, podId, image, pauseMs, err: error }, 'pod start failed, and is made again');
    return this.#putBack(pod, `could not be started yet: ${reason}`, { failures, notBefore });
  }

  /** Makes the pod wait for its next start. */
  async #putBack(pod: ControlledPod, reason: string, next: { failures: number; notBefore: Date }): Promise<void> {
    if (pod.phaseReason !== reason) this.#deps.logs.system(pod.id, reason);
    await this.#deps.runtime.stop(pod.id, 0).catch(() => {}); // the next start removes what is left
    await this.#recordEnd(pod, 'STARTING', { reason, ...next });
  }

  /** Resolves when nothing of the pod's container is left. */
  async #stopContainer(pod: ControlledPod, why: string): Promise<void> {
    const { runtime, logs, graceMs } = this.#deps;
    const isUp = pod.phase === 'RUNNING';
    if (isUp) logs.system(pod.id, why);
    await runtime.stop(pod.id, graceMs);
    await logs.finish(pod.id, STOPPED_LOG_TIMEOUT_MS);
    if (isUp) logs.system(pod.id, 'stopped');
  }

  async #adopt(pod: ControlledPod, { address, publishedPorts }: Observed): Promise<void> {
    const { pool, logs, bus } = this.#deps;
    logs.follow(pod.id);
    await markPodRunning(pool, pod, { address, publishedPorts });
    bus.publish('pod', pod.id);
  }

  /**
   * Removes what is left of a container that ended by itself, and schedules the next start: whatever the exit code, as in the
   * public cloud, and because an engine that shuts down ends well-behaved programs with 0. A crash loop gets a growing pause.
   */
  async #finalize(pod: ControlledPod, workload: Observed | undefined): Promise<void> {
    const { clock, logs, logger, runtime } = this.#deps;
    const code = workload?.exitCode ?? null;
    const why = workload?.reason ?? (code === null ? 'its container is gone' : `it exited with code ${code}`);
    await logs.finish(pod.id, ENDED_LOG_TIMEOUT_MS);
    const output = code === 0 ? [] : await readLastOutput(this.#deps, pod.id);
    const now = clock.now();
    const endedAt = workload?.finishedAt ?? null;
    const ranMs = (endedAt?.getTime() ?? now) - (pod.startedAt?.getTime() ?? now);
    const failures = ranMs >= HEALTHY_MS ? 1 : pod.failures + 1;
    const startAt = nextStartAt(failures, now, FREE_STARTS);
    const pauseMs = startAt - now;
    const reason = `${why}; it is started again${pauseMs > 0 ? ` in ${Math.ceil(pauseMs / 1000)} s` : ''}`;
    logs.system(pod.id, `ended: ${reason}`);
    logger.warn({ userId: pod.userId, podId: pod.id, reason: why, pauseMs }, 'pod ended by itself');
    await runtime.stop(pod.id, 0);
    const withOutput = quoteOutput(reason, output);
    await this.#recordEnd(pod, 'STARTING', { reason: withOutput, endedAt, failures, notBefore: new Date(startAt) });
  }

  async #terminate(pod: ControlledPod): Promise<void> {
    const { pool, mounts, logger, bus } = this.#deps;
    await this.#stopContainer(pod, `stops: ${pod.wantedReason ?? 'the pod is terminated'}`);
    if (pod.mounts.persistent) await mounts.removePodStorage(pod.id);
    await markPodGone(pool, pod.id);
    bus.publish('key', pod.id); // its own key is gone
    logger.info({ userId: pod.userId, podId: pod.id }, 'pod terminated');
    bus.publish('pod', pod.id);
  }

  async #recordEnd(
    pod: ControlledPod,
    phase: 'STARTING' | 'EXITED' | 'ERROR',
    more: { reason?: string; endedAt?: Date | null; failures?: number; notBefore?: Date } = {},
  ): Promise<void> {
    const none = { reason: null, endedAt: null, failures: 0, notBefore: null };
    await markPodEnded(this.#deps.pool, pod, { ...none, phase, ...more });
    this.#deps.bus.publish('key', pod.id); // its own key is gone
    this.#deps.bus.publish('pod', pod.id);
  }
}

/** True when the row says what was observed. */
function isUpToDate(pod: ControlledPod, { address, publishedPorts }: Observed): boolean {
  return pod.phase === 'RUNNING' && pod.address === address && isDeepStrictEqual(pod.publishedPorts, publishedPorts);
}
