import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  type ControlledCluster,
  listControlledClusters,
  markClusterFailed,
  markClusterGone,
  markClusterPutBack,
  markClusterRunning,
  markOnNetwork,
} from '../../domain/clusters/cluster-lifecycle.ts';
import { placeCluster } from '../../domain/clusters/place-cluster.ts';
import type { Capacity, Runtime } from '../../runtimes/runtime.ts';
import { decideCluster } from './decide-cluster.ts';

/** While a cluster waits for capacity, which comes without a hint. */
const WAITING_TICK_MS = 2_000;
const IDLE_TICK_MS = 30_000;
/** How often networks without a cluster are looked for. */
const ORPHANS_MS = 600_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  logger: Logger;
  runtime: Pick<Runtime, 'capacity' | 'groups'>;
}

/**
 * Reconciles clusters as wholes: claims the GPUs of all pods at once, gives them back if not all pods have a place, stops all
 * when one cannot be started, and removes the networks of deleted ones. Their containers are PodRunner's.
 */
export class ClusterRunner {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #loop: Loop;
  #orphansAt = Number.NEGATIVE_INFINITY;

  constructor({ pool, bus, clock, logger, runtime }: Deps) {
    this.#deps = { pool, bus, clock, logger, runtime };
    this.#log = new SeldomLog(logger);
    this.#loop = new Loop({
      name: 'run-clusters',
      tickMs: IDLE_TICK_MS,
      logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [bus.subscribe('cluster', wake), bus.subscribe('pod', wake), bus.onGap(wake)],
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#log.close();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const { pool, clock } = this.#deps;
    const now = clock.now();
    const networks = await this.#listNetworksIfDue(now);
    const clusters = await listControlledClusters(pool); // after the networks, so that each in use has its row here
    await this.#removeOrphans(networks, clusters);
    const readCapacity = once(() => this.#deps.runtime.capacity());
    let nextAt = Number.POSITIVE_INFINITY;
    for (const cluster of clusters) nextAt = Math.min(nextAt, await this.#step(cluster, now, readCapacity));
    return { inMs: nextAt - now };
  }

  /** Returns when to look at the cluster again, if nothing changes before. */
  async #step(cluster: ControlledCluster, now: number, readCapacity: () => Promise<Capacity>): Promise<number> {
    const { pool } = this.#deps;
    const { id } = cluster;
    const action = decideCluster(cluster, now);
    switch (action.do) {
      case 'place':
        return (await this.#place(cluster, readCapacity)) ? Number.POSITIVE_INFINITY : now + WAITING_TICK_MS;
      case 'wait':
        return action.untilMs;
      case 'markRunning':
        await markClusterRunning(pool, id);
        this.#report(cluster, 'cluster runs', {});
        break;
      case 'putBack':
        await markClusterPutBack(pool, id, action.reason, new Date(action.untilMs));
        this.#report(cluster, 'cluster put back', { reason: action.reason });
        return action.untilMs;
      case 'fail':
        await markClusterFailed(pool, cluster, action.reason);
        this.#report(cluster, 'cluster failed', { reason: action.reason });
        break;
      case 'finalize':
        return (await this.#finalize(cluster)) ? Number.POSITIVE_INFINITY : now + WAITING_TICK_MS;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Resolves with false while it waits. */
  async #place(cluster: ControlledCluster, readCapacity: () => Promise<Capacity>): Promise<boolean> {
    const { pool, bus } = this.#deps;
    const placing = await placeCluster(pool, cluster.id, await readCapacity());
    if (!placing.isPlaced) {
      if (placing.isNewReason) bus.publish('cluster', cluster.id);
      return false;
    }
    for (const workerId of placing.evicted) bus.publish('worker', workerId);
    await this.#makeNetwork(cluster, placing.ports);
    this.#report(cluster, 'cluster placed', { dataCenterId: placing.dataCenterId });
    return true;
  }

  /** Clients read the addresses right after a create. If this fails, the start of each pod makes the network. */
  async #makeNetwork({ id, members }: ControlledCluster, ports: readonly string[]): Promise<void> {
    const { pool, runtime, logger } = this.#deps;
    try {
      const { cidr, addressOf } = await runtime.groups.ensure({ id, size: members.length, ports });
      await markOnNetwork(pool, id, { cidr, pods: members.map((pod) => ({ id: pod.id, ip: addressOf(pod.rank) })) });
    } catch (error) {
      logger.warn({ clusterId: id, err: error }, `creating a cluster's network failed: ${messageOf(error)}`);
    }
  }

  /** Resolves with false if the network could not be removed; it is tried again. */
  async #finalize(cluster: ControlledCluster): Promise<boolean> {
    const { pool } = this.#deps;
    if (!(await this.#removeNetwork(cluster.id))) return false;
    await markClusterGone(pool, cluster.id);
    this.#report(cluster, 'cluster deleted', {});
    return true;
  }

  #report({ id, userId, members }: ControlledCluster, event: string, fields: object): void {
    const { logger, bus } = this.#deps;
    logger.info({ userId, clusterId: id, pods: members.length, ...fields }, event);
    bus.publish('cluster', id);
    for (const member of members) bus.publish('pod', member.id);
  }

  async #listNetworksIfDue(now: number): Promise<readonly string[]> {
    if (now - this.#orphansAt < ORPHANS_MS) return [];
    const networks = await this.#deps.runtime.groups.list();
    this.#orphansAt = now;
    return networks;
  }

  /** A process that was killed between removing the row's pods and the network, or a restored database, leaves some. */
  async #removeOrphans(networks: readonly string[], clusters: readonly ControlledCluster[]): Promise<void> {
    const known = new Set<string>(clusters.map(({ id }) => id));
    for (const id of networks) if (!known.has(id)) await this.#removeNetwork(id);
  }

  async #removeNetwork(clusterId: string): Promise<boolean> {
    const { runtime } = this.#deps;
    try {
      await runtime.groups.remove(clusterId);
      return true;
    } catch (error) {
      this.#log.warn({ clusterId, err: error }, "removing a cluster's network failed");
      return false;
    }
  }
}

/** Free capacity is read from the database for each cluster; the machine's, once for all of them. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}
