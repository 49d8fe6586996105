import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import {
  type ControlledPod,
  listControlledPods,
  markPodEnded,
  markPodGone,
  markPodPhase,
  markPodRunning,
} from '../../domain/pods/pod-lifecycle.ts';
import { NoCapacity, type Observed } from '../../runtimes/runtime.ts';
import { nextStartAt } from '../../scaling/crash-loop.ts';
import { decidePod, type PodDecision } from '../../scaling/decide-pod.ts';
import { WorkloadTasks } from '../workloads/workload-tasks.ts';
import { type PodStart, startPod } from './start-pod.ts';

/** While there are pods, and otherwise. */
const TICK_MS = 2_000;
const IDLE_TICK_MS = 10_000;
const OTHERS_DELAY_MS = 1_000;
/** How long a container may take to end; programs that do not listen to SIGTERM always take it. */
const MAX_GRACE_MS = 10_000;
/** One that ran for so long is no crash loop, however it ended. */
const HEALTHY_MS = 600_000;
/** After a start that found no place. */
const UNPLACED_PAUSE_MS = 5_000;

/**
 * Brings the containers in line with the pods that are wanted: starts, stops, adopts after a restart, starts again what
 * ended by itself, removes strays and what terminated pods had. The runtime's list is the truth; hints wake the loop.
 */
export class PodRunner {
  readonly #deps: PodStart & { bus: Bus; clock: Clock; logger: Logger; graceMs: number };
  readonly #tasks: WorkloadTasks;
  readonly #loop: Loop;
  /** Starts under way: how to tell each that something else is wanted. */
  readonly #starts = new Map<string, { revision: number; giveUp: AbortController }>();
  /** As last read. */
  #podIds = new Set<string>();
  #othersTimer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void)[] = [];
  #listedAt = Number.NEGATIVE_INFINITY;
  #hasEvents = true;
  /** The first moment at which a pod may be started again. */
  #pauseEndsAt = Number.POSITIVE_INFINITY;

  constructor(deps: PodStart & { bus: Bus; clock: Clock; logger: Logger; graceMs: number }) {
    this.#deps = { ...deps, graceMs: Math.min(deps.graceMs, MAX_GRACE_MS) };
    this.#loop = new Loop({
      name: 'run-pods',
      tickMs: IDLE_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
    });
    this.#tasks = new WorkloadTasks({ logger: deps.logger, onEnd: () => this.#listSoon() });
  }

  start(): void {
    const { bus, runtime } = this.#deps;
    this.#unsubscribe = [bus.subscribe('pod', () => this.#loop.wake()), runtime.watch((id) => this.#hear(id))];
    this.#hasEvents = true;
    this.#loop.start();
  }

  /** Ends the loop and waits for starts and stops under way, but not for long; the pods go on. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#othersTimer);
    this.#othersTimer = undefined;
    await this.#loop.stop();
    for (const { giveUp } of this.#starts.values()) giveUp.abort(); // whoever leads next goes on
    await this.#tasks.settle();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Ends all containers and waits for it; the pods are still wanted, and run again with the next start. */
  async stopAll(): Promise<void> {
    const { pool, runtime, graceMs } = this.#deps;
    const pods = new Map((await listControlledPods(pool)).map((pod) => [pod.id as string, pod]));
    const stop = async ({ id }: Observed) => {
      await runtime.stop(id, graceMs);
      const pod = pods.get(id);
      if (pod?.phase === 'RUNNING') await this.#noteEnd(pod, 'STARTING', { reason: 'the server was stopped' });
    };
    await Promise.all((await this.#listPods()).map(stop));
  }

  /** An event of another workload, a worker's or a stray's, can wait: thousands of workers may come and go. */
  #hear(workloadId: string): void {
    if (this.#podIds.has(workloadId)) this.#listSoon();
    else {
      this.#othersTimer ??= setTimeout(() => {
        this.#othersTimer = undefined;
        this.#listSoon();
      }, OTHERS_DELAY_MS);
    }
  }

  #listSoon(): void {
    this.#hasEvents = true;
    this.#loop.wake();
  }

  async #run(): Promise<NextRun | undefined> {
    const now = this.#deps.clock.now();
    const mark = this.#tasks.mark();
    const isDue = this.#hasEvents || now >= this.#pauseEndsAt || Math.abs(now - this.#listedAt) >= TICK_MS;
    const listed = isDue ? await this.#list(now) : undefined;
    const pods = await listControlledPods(this.#deps.pool); // after the list: what was started is in it
    this.#podIds = new Set(pods.map(({ id }) => id));
    this.#giveUpStarts(pods);
    const workloads = listed && new Map(listed.map((workload) => [workload.id, workload]));
    if (workloads) this.#removeStrays(workloads, pods, mark);
    if (workloads) this.#pauseEndsAt = Number.POSITIVE_INFINITY;
    for (const pod of pods) {
      if (this.#tasks.isBusy(pod.id)) continue;
      const isKnown = workloads !== undefined && !this.#tasks.isTouchedSince(pod.id, mark);
      const workload = workloads?.get(pod.id);
      const facts = { ...pod, notBefore: pod.notBefore?.getTime() ?? null };
      const decision = decidePod(facts, isKnown ? (workload?.state ?? 'absent') : 'unknown', now);
      if (decision.do === 'adopt' && isAsNoted(pod, workload!)) this.#deps.logs.follow(pod.id);
      else if (decision.do === 'nothing')
        this.#pauseEndsAt = Math.min(this.#pauseEndsAt, decision.untilMs ?? Number.POSITIVE_INFINITY);
      else this.#tasks.run(pod.id, () => this.#act(decision, pod, workload));
    }
    if (pods.length === 0) return undefined;
    return { atMs: Math.min(now + TICK_MS, this.#pauseEndsAt) };
  }

  async #list(now: number): Promise<Observed[]> {
    this.#hasEvents = false;
    try {
      const listed = await this.#listPods();
      this.#listedAt = now;
      return listed;
    } catch (error) {
      this.#hasEvents = true; // what happened meanwhile is still to be looked at
      throw error;
    }
  }

  async #listPods(): Promise<Observed[]> {
    return (await this.#deps.runtime.list()).filter((workload) => workload.kind === 'pod');
  }

  #removeStrays(workloads: ReadonlyMap<string, Observed>, pods: readonly ControlledPod[], mark: number): void {
    const known = new Set(pods.map((pod) => pod.id as string));
    for (const id of workloads.keys()) {
      if (known.has(id) || this.#tasks.isTouchedSince(id, mark)) continue;
      this.#deps.logger.info({ podId: id }, 'a container without a pod is removed');
      this.#tasks.run(id, () => this.#deps.runtime.stop(id, 0));
    }
  }

  /** A pull may take an hour; who wants something else does not wait for it. */
  #giveUpStarts(pods: readonly ControlledPod[]): void {
    for (const pod of pods) {
      const start = this.#starts.get(pod.id);
      if (start && (pod.wanted !== 'RUN' || pod.revision !== start.revision)) start.giveUp.abort();
    }
  }

  async #act(decision: PodDecision, pod: ControlledPod, workload: Observed | undefined): Promise<void> {
    switch (decision.do) {
      case 'start':
        return this.#startPod(pod);
      case 'adopt':
        return this.#adopt(pod, workload!);
      case 'bury':
        return this.#bury(pod, workload);
      case 'stop':
        await this.#endContainer(pod, 'stops: that was asked for');
        return this.#noteEnd(pod, 'EXITED');
      case 'terminate':
        return this.#terminate(pod);
    }
  }

  async #startPod(pod: ControlledPod): Promise<void> {
    const { pool, logger, runtime, logs, bus } = this.#deps;
    if (pod.phaseRevision !== pod.revision) await this.#endContainer(pod, 'stops: a new container takes its place');
    else await runtime.stop(pod.id, 0); // what a start that was cut off may have left
    if (!(await markPodPhase(pool, pod, 'PROVISIONING'))) return;
    bus.publish('pod', pod.id);
    const giveUp = new AbortController();
    this.#starts.set(pod.id, { revision: pod.revision, giveUp });
    try {
      const isRunning = await startPod(this.#deps, pod, giveUp.signal);
      if (isRunning) logger.info({ userId: pod.userId, podId: pod.id, image: pod.image }, 'pod started');
    } catch (error) {
      await runtime.list(); // when the engine is away it throws too, and the start is made again
      const reason = messageOf(error);
      if (giveUp.signal.aborted) return; // what is wanted instead comes next
      if (error instanceof NoCapacity) return this.#putBack(pod, reason);
      logs.system(pod.id, `could not be started: ${reason}`);
      logger.warn({ userId: pod.userId, podId: pod.id, reason }, 'pod could not be started');
      await runtime.stop(pod.id, 0);
      await this.#noteEnd(pod, 'ERROR', { reason });
    } finally {
      this.#starts.delete(pod.id);
      bus.publish('pod', pod.id);
    }
  }

  /** Nothing is wrong with it: it waits for a place. */
  async #putBack(pod: ControlledPod, missing: string): Promise<void> {
    const reason = `it waits for a place: ${missing}`;
    this.#deps.logs.system(pod.id, reason);
    await this.#deps.runtime.stop(pod.id, 0);
    const notBefore = new Date(this.#deps.clock.now() + UNPLACED_PAUSE_MS);
    await this.#noteEnd(pod, 'STARTING', { reason, failures: pod.failures, notBefore });
  }

  /** Nothing of an older container is left when this resolves. */
  async #endContainer(pod: ControlledPod, why: string): Promise<void> {
    const { runtime, logs, graceMs } = this.#deps;
    const isUp = pod.phase === 'RUNNING';
    if (isUp) logs.system(pod.id, why);
    await runtime.stop(pod.id, graceMs);
    await logs.finish(pod.id, 500);
    if (isUp) logs.system(pod.id, 'stopped');
  }

  /** It runs: after a restart of Podyard it is taken over as it is. */
  async #adopt(pod: ControlledPod, { address, publishedPorts }: Observed): Promise<void> {
    const { pool, logs, bus } = this.#deps;
    logs.follow(pod.id);
    await markPodRunning(pool, pod, { address, publishedPorts });
    bus.publish('pod', pod.id);
  }

  /**
   * It ended by itself: it is started again, whatever its exit code, as the public cloud does, and because an engine that
   * is shut down ends well-behaved programs with 0. Ends that follow each other closely put a pause before the next start.
   */
  async #bury(pod: ControlledPod, workload: Observed | undefined): Promise<void> {
    const { clock, logs, logger, runtime } = this.#deps;
    const code = workload?.exitCode ?? null;
    const why = workload?.reason ?? (code === null ? 'its container is gone' : `it exited with code ${code}`);
    await logs.finish(pod.id, 2_000);
    const endedAt = workload?.finishedAt ?? null;
    const ranMs = (endedAt?.getTime() ?? clock.now()) - (pod.startedAt?.getTime() ?? clock.now());
    const failures = ranMs >= HEALTHY_MS ? 1 : pod.failures + 1;
    const startAt = nextStartAt(failures, clock.now());
    const pauseMs = startAt - clock.now();
    const reason = `${why}; it is started again${pauseMs > 0 ? ` in ${Math.ceil(pauseMs / 1000)} s` : ''}`;
    logs.system(pod.id, `ended: ${reason}`);
    logger.warn({ userId: pod.userId, podId: pod.id, reason }, 'pod ended by itself');
    await runtime.stop(pod.id, 0);
    await this.#noteEnd(pod, 'STARTING', { reason, endedAt, failures, notBefore: new Date(startAt) });
  }

  async #terminate(pod: ControlledPod): Promise<void> {
    const { pool, mounts, logger, bus } = this.#deps;
    await this.#endContainer(pod, 'stops: the pod is terminated');
    if (pod.mounts.persistent) await mounts.removePodStorage(pod.id);
    await markPodGone(pool, pod.id);
    logger.info({ userId: pod.userId, podId: pod.id }, 'pod terminated');
    bus.publish('pod', pod.id);
  }

  async #noteEnd(
    pod: ControlledPod,
    phase: 'STARTING' | 'EXITED' | 'ERROR',
    more: { reason?: string; endedAt?: Date | null; failures?: number; notBefore?: Date } = {},
  ): Promise<void> {
    const none = { reason: null, endedAt: null, failures: 0, notBefore: null };
    await markPodEnded(this.#deps.pool, pod, { ...none, phase, ...more });
    this.#deps.bus.publish('pod', pod.id);
  }
}

function isAsNoted(pod: ControlledPod, { address, publishedPorts }: Observed): boolean {
  return pod.phase === 'RUNNING' && pod.address === address && isDeepStrictEqual(pod.publishedPorts, publishedPorts);
}
