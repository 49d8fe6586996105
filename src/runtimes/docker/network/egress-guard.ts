/**
 * Limits what containers can reach with firewall rules on their bridge (egress-rules.ts), and restores them when something
 * else removed them. Fails closed: without rules no container starts. The rules outlive this process, because containers do.
 * See docs/decisions/0034-egress.md.
 */

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EgressSettings } from '../../../config/egress.ts';
import { EgressUnavailable } from '../../../config/egress.ts';
import { messageOf } from '../../../core/errors.ts';
import { Loop } from '../../../core/flow/loop.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Engine } from '../../../engine/engine.ts';
import { NoCapacity } from '../../runtime.ts';
import { LABELS } from '../containers/container-config.ts';
import type { Containers } from '../containers/containers.ts';
import { removeKeeper } from './bridge-keeper.ts';
import { type BridgeNetwork, interfaceOf, NETWORK_LABEL, type NetworkDetails, usersOf } from './bridge-network.ts';
import {
  bridgeKeyOf,
  type Family,
  listApis,
  listBridgeKeys,
  type OpenApi,
  planClosing,
  planRemoval,
  planRules,
  planUnhookGroups,
  type WorkerApi,
} from './egress-rules.ts';
import {
  changeFirewall,
  type FirewallRules,
  type RunOnHost,
  readFirewall,
  runDirectly,
  runInContainer,
} from './firewall.ts';
import { isGroupNetwork } from './group-networks.ts';

export interface EgressGuardOptions {
  engine: Engine;
  containers: Containers;
  /** The network of new containers; see `networkFor`. */
  network: BridgeNetwork;
  settings: EgressSettings;
  installation: string;
  logger: Logger;
}

/** A network that exists for its settings; the first one, without a suffix, stays. */
const OTHER_NETWORK = /-(?:lan|internet)(?:-[0-9a-f]{8})?$/;
const CHECK_MS = 10_000;
/** A check in a container takes half a second of the engine. */
const SLOW_CHECK_MS = 60_000;
const TRIES = 5;
const RETRY_MS = 100;
const PROBE_MS = 500;
/** Words of a shell or an engine on a machine without iptables, or one that is not this machine. */
const IMPOSSIBLE = /not found|no such file|not shared from the host|mounts denied|invalid mount/i;

export class EgressGuard {
  readonly #options: EgressGuardOptions;
  #run: RunOnHost | undefined;
  #api: WorkerApi | null = null;
  #hasGivenUp = false;
  /** The interface of the bridge whose rules are in place. */
  #limited: string | undefined;
  #applying: Promise<boolean> | undefined;
  #loop: Loop | undefined;

  constructor(options: EgressGuardOptions) {
    this.#options = options;
  }

  /** Finds out how to set rules here, and sets them. Throws `EgressUnavailable`. */
  async prepare(): Promise<void> {
    if (await this.#isOff()) return;
    const { interfaceName, hasIpv6 } = await this.#options.network.ensure();
    const { run, rules } = await findRunner(this.#options.engine, interfaceName);
    if (hasIpv6 && rules[6] === null) {
      throw new EgressUnavailable('the network of workloads has IPv6, but this machine has no ip6tables', true);
    }
    this.#run = run;
    await this.#apply().catch((error) => {
      throw new EgressUnavailable(messageOf(error), true);
    });
  }

  /** Limits nothing from now on, because the operator accepts that. */
  giveUp(): void {
    this.#hasGivenUp = true;
  }

  /**
   * Moves containers that ran under other settings to the network of these. They get new addresses, and lose the connections they
   * have. One that cannot be moved is removed; control replaces it. Returns the workloads that moved. Call it before the worker API
   * listens: a connection to it would outlive the container's address, and a worker that waits for jobs on it would get none.
   */
  async moveWorkloads(): Promise<string[]> {
    const { containers, network, logger } = this.#options;
    const moved: string[] = [];
    for (const container of await containers.listAlive()) {
      const names = Object.keys(container.NetworkSettings?.Networks ?? {}).filter((name) => !isGroupNetwork(name));
      if (names.includes(network.name)) continue; // with none, a move was interrupted
      const workloadId = container.Labels[LABELS.id] ?? '';
      await network.ensure();
      try {
        await this.#move(container.holderId ?? container.Id, names);
        moved.push(workloadId);
        logger.info({ workloadId, network: network.name }, 'workload moved to another network');
      } catch (error) {
        logger.warn({ err: error, workloadId }, 'workload could not be moved to another network: removing it');
        await containers.remove(workloadId);
      }
    }
    return moved;
  }

  /** Sets the rules, opens the worker API, and keeps both until `stop`. */
  async start(api: { host: string; port: number }): Promise<void> {
    const { installation, logger } = this.#options;
    this.#api = { installation, ...api };
    const isOff = await this.#isOff();
    if (!isOff) await this.#apply();
    await this.#tidy().catch((error) => logger.warn({ err: error }, 'unused egress rules could not be removed'));
    if (isOff) return;
    const tickMs = this.#run === runDirectly ? CHECK_MS : SLOW_CHECK_MS;
    this.#loop = new Loop({ name: 'egress', tickMs, logger, runOnce: () => this.#check() });
    this.#loop.start();
  }

  /** Resolves once containers of the current network are limited. Free unless something changed. */
  async ready(): Promise<void> {
    if (await this.#isOff()) return;
    const { interfaceName } = await this.#options.network.ensure();
    if (this.#limited === interfaceName) return;
    if (this.#run === undefined && this.#options.settings.mode === 'all') return this.#keepApart();
    await this.#apply().catch((error) => {
      const { logger } = this.#options;
      logger.error({ err: error }, 'egress rules cannot be set: no workload starts');
      throw new NoCapacity('the machine cannot limit what workloads reach, so none starts: ask its operator');
    });
  }

  /** The most that can be done where nothing is to be limited: others' workloads stay unreachable, if that is possible. */
  async #keepApart(): Promise<void> {
    await this.prepare().catch((error) => {
      if (!(error instanceof EgressUnavailable)) throw error;
      this.#options.logger.warn({ err: error }, 'nothing keeps workloads apart, they can reach each other');
      this.giveUp();
    });
  }

  /** Closes the worker API, unless another process still serves it, and removes rules that limit nothing any more. */
  async stop(): Promise<void> {
    await this.#loop?.stop();
    if (!this.#run || (this.#api && (await answers(this.#api)))) return;
    this.#api = null;
    await this.#tidy();
  }

  /** Leaves the old networks first: the engine publishes ports on the first network only. */
  async #move(Container: string, from: readonly string[]): Promise<void> {
    const { engine, network } = this.#options;
    for (const name of from) {
      const path = `/networks/${encodeURIComponent(name)}/disconnect`;
      await engine.json({ method: 'POST', path, body: { Container, Force: true } });
    }
    await engine.json({ method: 'POST', path: `/networks/${network.name}/connect`, body: { Container } });
  }

  /** True when nothing has to be limited, or nothing can be. */
  async #isOff(): Promise<boolean> {
    const { settings, network } = this.#options;
    return this.#hasGivenUp || (settings.mode === 'all' && (await network.ensure()).engine.isolatesNeighbors);
  }

  async #check(): Promise<undefined> {
    await this.#options.network.refresh();
    const isChanged = await this.#apply();
    if (isChanged) this.#options.logger.warn({}, 'egress rules were missing and are restored');
  }

  /** Resolves with true if something was missing. */
  #apply(): Promise<boolean> {
    this.#applying ??= this.#applyOnce()
      .catch((error) => {
        this.#limited = undefined;
        throw error;
      })
      .finally(() => {
        this.#applying = undefined;
      });
    return this.#applying;
  }

  async #applyOnce(): Promise<boolean> {
    const { network, settings } = this.#options;
    const run = this.#run;
    if (!run) throw new Error('egress rules were never prepared');
    const { interfaceName, engine } = await network.ensure();
    return tryAgain(async () => {
      const { filtersBridges, ...rules } = await readFirewall(run);
      const bridge = { name: interfaceName, settings, engine, filtersBridges };
      const plan = (family: Family) => planRules(family, rules[family] ?? [], bridge, this.#api);
      const isChanged = await changeFirewall(run, { 4: plan(4), 6: rules[6] === null ? [] : plan(6) });
      this.#limited = bridge.name;
      return isChanged;
    });
  }

  /** Removes what servers have left: worker APIs that are no longer served, and what belongs to unused bridges. */
  async #tidy(): Promise<void> {
    const { engine, network } = this.#options;
    const run = this.#run ?? (await findRunner(engine, network.name).catch(() => undefined))?.run;
    if (run) await tryAgain(() => this.#tidyOnce(run)); // without rights there are none of our rules
  }

  async #tidyOnce(run: RunOnHost): Promise<void> {
    const { engine, network, installation } = this.#options;
    const ownKey = (await this.#isOff()) ? null : bridgeKeyOf((await network.ensure()).interfaceName);
    const isOwn = (key: string) => key === ownKey && this.#api !== null;
    const rules = await readFirewall(run);
    const gone = new Set<string>();
    for (const api of listApis(rules[4])) {
      const isOurs = api.installation === installation && this.#api !== null;
      const isHere = isOurs ? isOwn(api.bridgeKey) : await answers(api);
      if (!isHere) gone.add(JSON.stringify(api));
    }
    const isGone = (api: OpenApi) => gone.has(JSON.stringify(api));
    const networks = await listNetworks(engine); // after the rules: a network that appears meanwhile has none yet
    const isUsed = (key: string) => {
      const found = networks.find((one) => bridgeKeyOf(interfaceOf(one)) === key);
      const isOpen = listApis(rules[4]).some((api) => api.bridgeKey === key && !isGone(api));
      if (isOwn(key)) return true;
      if (found === undefined) return existsSync(`/sys/class/net/br-${key}`); // of another engine on this machine
      return isOpen || usersOf(found.Containers).length > 0;
    };
    const plan = (lines: readonly string[]) => {
      const unused = listBridgeKeys(lines).filter((key) => !isUsed(key));
      const kept = planClosing(lines, (api) => isGone(api) && isUsed(api.bridgeKey));
      const isLast = unused.length === listBridgeKeys(lines).length;
      const groups = isLast ? planUnhookGroups(lines) : [];
      return [...kept, ...unused.flatMap((key) => planRemoval(lines, key)), ...groups];
    };
    await changeFirewall(run, { 4: plan(rules[4]), 6: plan(rules[6] ?? []) });
    const isLeft = (one: NetworkDetails) =>
      OTHER_NETWORK.test(one.Name ?? '') && !isUsed(bridgeKeyOf(interfaceOf(one)));
    const left = networks.filter(isLeft);
    const remove = async ({ Id, Name = '' }: NetworkDetails) => {
      await removeKeeper(engine, Name);
      await engine.json({ method: 'DELETE', path: `/networks/${Id}` });
    };
    await Promise.allSettled(left.map(remove)); // the engine refuses where a container has come meanwhile
  }
}

/** Another server may change the same rules between a look at them and the change: then it looks again. */
async function tryAgain<T>(change: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left--) {
    try {
      return await change();
    } catch (error) {
      if (left === 1) throw error;
      await sleep(RETRY_MS * Math.random());
    }
  }
}

/** Returns how to run commands on the engine's machine; throws `EgressUnavailable` with why that is not possible. */
export async function findRunner(
  engine: Engine,
  interfaceName: string,
): Promise<{ run: RunOnHost; rules: FirewallRules }> {
  const isHere = existsSync(`/sys/class/net/${interfaceName}`);
  const runners = [...(isHere ? [runDirectly] : []), runInContainer(engine)];
  const failures: string[] = [];
  for (const run of runners) {
    try {
      return { run, rules: await readFirewall(run) };
    } catch (error) {
      failures.push(messageOf(error).split('\n')[0]!);
    }
  }
  const isImpossible = failures.every((text) => IMPOSSIBLE.test(text)) || (await isElsewhere(engine));
  throw new EgressUnavailable(failures.join('; with a container: '), !isImpossible);
}

/** True for an engine whose network is not the machine's: in a virtual machine of its own, or of a user without rights. */
async function isElsewhere(engine: Engine): Promise<boolean> {
  const request = { method: 'GET', path: '/info' } as const;
  const info = await engine.json<{ OperatingSystem?: string; SecurityOptions?: string[] | null }>(request);
  return info.OperatingSystem === 'Docker Desktop' || (info.SecurityOptions ?? []).includes('name=rootless');
}

/** True when something listens there, or it cannot be known. */
function answers({ host, port }: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PROBE_MS });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.on('connect', () => end(true)).on('timeout', () => end(true));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code !== 'ECONNREFUSED'));
  });
}

async function listNetworks(engine: Engine): Promise<NetworkDetails[]> {
  const filters = JSON.stringify({ label: [NETWORK_LABEL] });
  const found = await engine.json<NetworkDetails[]>({ method: 'GET', path: '/networks', query: { filters } });
  const details = found.map(({ Id }) => engine.json<NetworkDetails>({ method: 'GET', path: `/networks/${Id}` }));
  return (await Promise.allSettled(details)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}
