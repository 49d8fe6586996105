import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readBuildRegistry } from '../builders/pushed/read-places.ts';
import type { Config } from '../config/config.ts';
import { OWN_PACKAGE } from '../core/files/own-package.ts';
import type { Logger } from '../core/logger.ts';
import { closest } from '../core/text/closest.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { gpuPools, LOCAL_DATA_CENTER } from '../domain/catalog/catalog.ts';
import type { Installation } from '../domain/installation.ts';
import {
  ensureSimulation,
  findSimulation,
  getSimulation,
  type SimulatedGpus,
} from '../domain/simulation/simulation.ts';
import { StorageDirectories } from '../runtimes/directories/storage-directories.ts';
import { StorageQuotas } from '../runtimes/directories/storage-quotas.ts';
import type { EngineRuntime } from '../runtimes/docker/docker-runtime.ts';
import type { EgressGuard } from '../runtimes/docker/network/egress-guard.ts';
import type { GpuInventory } from '../runtimes/gpus/gpu-inventory.ts';
import { LocalGpus } from '../runtimes/gpus/local-gpus.ts';
import type { Runtime, WorkloadStorage } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';
import { builtImagesIn } from './create-builder.ts';
import { openGpus } from './open-gpus.ts';

const OWN_IMAGES_FILE = fileURLToPath(new URL('workers/images.json', OWN_PACKAGE));

const DEFAULT_SIMULATED_GPUS: NonNullable<Config['simulateGpus']> = [{ pool: 'ADA_24', dataCenterId: null, total: 4 }];

export interface CreatedRuntime {
  runtime: Runtime;
  storage: WorkloadStorage;
  /** Limits workloads' egress; absent where this process cannot. */
  guard?: EgressGuard;
  /** Notices for operators, one sentence each, without a period. */
  notices: string[];
  /** The fault of the machine's GPUs now; absent where they are simulated or the cluster's. */
  gpuProblem?: () => string | null;
}

/** Resolves if there is a container engine that workers can use; rejects with the reason if not. */
type EngineCheck = Promise<void>;

interface Setup {
  config: Config;
  engine: EngineCheck;
  installation: Installation;
  pool: Pool;
  bus: Bus;
  logger: Logger;
  simulatedGpus: readonly SimulatedGpus[];
  /** Simulated GPUs by pool, as the inner runtime sees them; kept up to date by the shortage runtime in front of it. */
  inventory: Map<string, number>;
}

/** Each loads its own libraries, so that nothing is loaded for a runtime that is not used. */
const CREATE: Record<Runtime['name'], (setup: Setup) => Promise<CreatedRuntime>> = {
  docker: createDocker,
  kubernetes: createKubernetes,
  process: createProcesses,
  simulated: createSimulated,
};

/**
 * Looks for a container engine that workers can use, where the configuration allows for one. Rejects if there is none. Needs no
 * database, so a start looks while that starts.
 */
export function checkEngine(config: Config, logger: Logger): EngineCheck {
  const check = config.runtime === 'auto' || config.runtime === 'docker' ? askEngine(config, logger) : noEngine();
  check.catch(() => {}); // createRuntime reports it
  return check;
}

async function noEngine(): EngineCheck {
  throw new Error('no container engine is to be used');
}

/** Creates the configured runtime, or the first available one for `auto` (choose-runtime.ts). */
export async function createRuntime(
  config: Config,
  installation: Installation,
  parts: { pool: Pool; bus: Bus; logger: Logger; engine: EngineCheck },
): Promise<CreatedRuntime> {
  const simulatedGpus = simulatedGpusOf(config);
  const setup: Setup = { config, installation, ...parts, simulatedGpus, inventory: new Map() };
  const engine = config.runtime === 'auto' ? await lookForEngine(setup) : { isUsable: false, notices: [] };
  const found = { hasEngine: engine.isUsable, isInCluster: config.kubernetes.inCluster !== null };
  const created = await CREATE[chooseRuntime(config.runtime, found)](setup);
  return { ...created, notices: [...engine.notices, ...created.notices, ...unknownPools(config)] };
}

/** Says which pools of --simulate-gpus no endpoint can ask for. */
function unknownPools({ simulateGpus }: Config): string[] {
  const unknown = (simulateGpus ?? []).map(({ pool }) => pool).filter((pool) => !gpuPools().includes(pool));
  return unknown.map((pool) => {
    const meant = closest(pool, gpuPools());
    const hint = meant === undefined ? '' : `, where '${meant}' may be meant`;
    return `--simulate-gpus names '${pool}', which is no GPU pool of the catalog${hint}: no endpoint can use it`;
  });
}

function simulatedGpusOf({ simulateGpus }: Config): SimulatedGpus[] {
  return (simulateGpus ?? DEFAULT_SIMULATED_GPUS).map((entry) => ({
    ...entry,
    dataCenterId: entry.dataCenterId ?? LOCAL_DATA_CENTER,
  }));
}

/** `notices`: why one that answers cannot be used. */
async function lookForEngine({ engine }: Setup): Promise<{ isUsable: boolean; notices: string[] }> {
  const { UnusableEngine } = await import('../runtimes/docker/engine/engine-machine.ts');
  return engine.then(
    () => ({ isUsable: true, notices: [] }),
    (error) => ({ isUsable: false, notices: error instanceof UnusableEngine ? [error.message] : [] }),
  );
}

async function createDocker(setup: Setup): Promise<CreatedRuntime> {
  const { EngineGpus } = await import('../runtimes/docker/gpus/engine-gpus.ts');
  await setup.engine; // fails here, not at the first start, when no engine answers
  const { shareGpus: shares, gpuProbeImage: image } = setup.config;
  const engine = new EngineGpus({ installation: setup.installation.id, shares, image });
  const { inventory, notices } = await openGpus(partsFor(setup, 'docker'), [new LocalGpus({ shares }), engine]);
  const docker = await openDocker(setup, setup.installation.id, inventory ?? setup.inventory);
  const opened = await withGpus(setup, docker, inventory === null);
  const lacks = inventory !== null && notices.length === 0 ? await engine.lackOfSupport(inventory.usable()) : null;
  return {
    runtime: opened.runtime,
    notices: [...notices, ...[lacks, await docker.diskNotice()].filter((one) => one !== null), ...opened.notices],
    storage: createDirectories(setup),
    guard: docker.egress,
    ...gpuProblemOf(inventory),
  };
}

async function askEngine(config: Config, logger: Logger): EngineCheck {
  const docker = await openDocker({ config, logger }, '', new Map()); // it looks at no workload, so it needs no installation
  try {
    await docker.workerApiAddress();
  } finally {
    await docker.close();
  }
}

function partsFor({ config, pool, logger, installation }: Setup, runtime: Runtime['name']) {
  return { config, pool, logger, wasThisRuntime: installation.runtime === runtime };
}

async function openDocker(
  { config, logger }: Pick<Setup, 'config' | 'logger'>,
  installation: string,
  gpus: ReadonlyMap<string, number> | GpuInventory,
): Promise<EngineRuntime> {
  const { createDockerRuntime } = await import('../runtimes/docker/docker-runtime.ts');
  return createDockerRuntime({
    installation,
    gpus,
    publishIp: config.publishIp,
    egress: config.egress,
    preparedNetworks: config.preparedNetworks,
    mirrors: config.registryMirrors,
    stateDir: join(config.dataDir, 'docker'),
    logger,
  });
}

async function createKubernetes(setup: Setup): Promise<CreatedRuntime> {
  const { config, installation, pool, logger, inventory } = setup;
  const { createKubernetesRuntime } = await import('../runtimes/kubernetes/kubernetes-runtime.ts');
  const { hasGpuNodes } = await import('../runtimes/kubernetes/nodes/device-slices.ts');
  const settings = config.kubernetes;
  const wasKubernetes = installation.runtime === 'kubernetes';
  const lastKnown = wasKubernetes ? (await findSimulation(pool)) === undefined : null;
  const isSimulated = await areGpusSimulated(setup, () => hasGpuNodes(settings, logger, lastKnown));
  const gpus = isSimulated ? inventory : null;
  const builtImages = await readBuildRegistry(config);
  const runtime = createKubernetesRuntime({ settings, installation: installation.id, logger, gpus, builtImages });
  return { ...(await withGpus(setup, runtime, isSimulated)), storage: runtime.storage };
}

async function createProcesses(setup: Setup): Promise<CreatedRuntime> {
  const { config, installation, logger } = setup;
  const { inventory, notices } = await openGpus(partsFor(setup, 'process'), [
    new LocalGpus({ shares: config.shareGpus }),
  ]);
  const { createProcessRuntime } = await import('../runtimes/process/process-runtime.ts');
  const runtime = createProcessRuntime({
    stateDir: join(config.dataDir, 'process'),
    hostEnv: config.hostEnv,
    imagesFiles: [...config.imagesFiles, join(config.dataDir, 'images.json'), OWN_IMAGES_FILE],
    builtImages: builtImagesIn(config),
    installation: installation.id,
    gpus: inventory ?? setup.inventory,
    logger,
  });
  const opened = await withGpus(setup, runtime, inventory === null);
  const unisolated = 'No container engine is used: workers run as processes on this machine, without isolation';
  return {
    runtime: opened.runtime,
    storage: createDirectories(setup),
    notices: [...notices, unisolated, ...opened.notices],
    ...gpuProblemOf(inventory),
  };
}

/** Reading it begins a check if one is due: on the leader, workloads do so anyway. */
function gpuProblemOf(inventory: GpuInventory | null): Pick<CreatedRuntime, 'gpuProblem'> {
  if (inventory === null) return {};
  return {
    gpuProblem: () => {
      inventory.refresh();
      return inventory.problem;
    },
  };
}

async function createSimulated(setup: Setup): Promise<CreatedRuntime> {
  const { createSimulatedRuntime } = await import('../runtimes/simulated/simulated-runtime.ts');
  const runtime = createSimulatedRuntime({ gpus: setup.inventory, installation: setup.installation.id });
  return {
    runtime: await simulateGpus(setup, runtime),
    storage: createDirectories(setup),
    notices: ['The runtime is simulated: no worker runs'],
  };
}

/** GPUs are simulated when the configuration names some; when it says nothing, where the machines have none. */
async function areGpusSimulated({ config }: Setup, hasGpus: () => Promise<boolean>): Promise<boolean> {
  return config.simulateGpus === null ? !(await hasGpus()) : config.simulateGpus.length > 0;
}

async function withGpus(
  setup: Setup,
  runtime: Runtime,
  isSimulated: boolean,
): Promise<Pick<CreatedRuntime, 'runtime' | 'notices'>> {
  if (isSimulated) {
    return { runtime: await simulateGpus(setup, runtime), notices: [simulationNotice(setup.simulatedGpus)] };
  }
  if (setup.config.roles.has('control')) await ensureSimulation(setup.pool, null);
  return { runtime, notices: [] };
}

function simulationNotice(gpus: readonly SimulatedGpus[]): string {
  const pools = gpus.map(({ pool, dataCenterId, total }) => `${pool}@${dataCenterId}:${total}`).join(', ');
  return `GPUs are simulated (${pools}): workers run on the CPU`;
}

/** Puts the shortage runtime in front of one with simulated GPUs. It follows changes of the simulation by hints. */
async function simulateGpus(
  { config, pool, bus, logger, simulatedGpus, inventory }: Setup,
  inner: Runtime,
): Promise<ShortageRuntime> {
  // A process that only serves clients may have no such flag, or another one.
  if (config.roles.has('control') || !(await findSimulation(pool))) await ensureSimulation(pool, simulatedGpus);
  const runtime = new ShortageRuntime({ inner, inventory, simulation: await getSimulation(pool) });
  const refresh = async () => {
    const simulation = await findSimulation(pool);
    if (simulation) runtime.simulate(simulation);
  };
  bus.subscribe('simulation', () => {
    refresh().catch((error) => logger.warn({ err: error }, 'the simulation could not be read'));
  });
  return runtime;
}

function createDirectories({ config, installation, logger }: Setup): WorkloadStorage {
  const root = join(config.dataDir, 'storage', installation.id);
  return new StorageDirectories({ root, quotas: new StorageQuotas({ root, logger }) });
}

/**
 * Returns the runtime to use. A configured one is taken as it is; `auto` takes the first that is available: Docker when an
 * engine answers, Kubernetes when Podyard runs inside a cluster, else processes.
 */
export function chooseRuntime(
  configured: Config['runtime'],
  found: { hasEngine: boolean; isInCluster: boolean },
): Runtime['name'] {
  if (configured !== 'auto') return configured;
  if (found.hasEngine) return 'docker';
  return found.isInCluster ? 'kubernetes' : 'process';
}
