import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { LOCAL_DATA_CENTER } from '../domain/catalog/catalog.ts';
import type { Installation } from '../domain/installation.ts';
import {
  ensureSimulation,
  findSimulation,
  getSimulation,
  type SimulatedGpus,
} from '../domain/simulation/simulation.ts';
import { StorageDirectories } from '../runtimes/directories/storage-directories.ts';
import { StorageQuotas } from '../runtimes/directories/storage-quotas.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { ShortageRuntime } from '../runtimes/shortage/shortage-runtime.ts';
import type { WorkloadStorage } from '../runtimes/storage.ts';

const OWN_IMAGES_FILE = fileURLToPath(new URL('../../workers/images.json', import.meta.url));

const DEFAULT_SIMULATED_GPUS: Config['simulateGpus'] = [{ pool: 'ADA_24', dataCenterId: null, total: 4 }];

/**
 * The configured runtime; with `auto` Docker when an engine answers, else pods where this runs in a cluster, else
 * processes. Libraries are loaded only when used.
 */
export async function createRuntime(
  config: Config,
  installation: Installation,
  parts: { pool: Pool; bus: Bus; logger: Logger },
): Promise<{ runtime: Runtime; storage: WorkloadStorage | null; notices: string[] }> {
  const { logger } = parts;
  const simulatedGpus = (config.simulateGpus ?? DEFAULT_SIMULATED_GPUS!).map((entry) => ({
    ...entry,
    dataCenterId: entry.dataCenterId ?? LOCAL_DATA_CENTER,
  }));
  const gpus = new Map<string, number>(); // what a runtime is to believe; the runtime in front of it knows better
  const pretend = (inner: Runtime) => withShortage(inner, gpus, simulatedGpus, parts);
  const pools = simulatedGpus.map(({ pool, dataCenterId, total }) => `${pool}@${dataCenterId}:${total}`).join(', ');
  const simulated = `GPUs are simulated (${pools}): workers run on the CPU`;
  const isPretended = async (hasOwn: () => Promise<boolean>) =>
    config.simulateGpus === null ? !(await hasOwn()) : config.simulateGpus.length > 0;
  const createPods = async () => {
    const { createKubernetesRuntime, hasGpuNodes } = await import('../runtimes/kubernetes/kubernetes-runtime.ts');
    const settings = config.kubernetes;
    const isKnown = installation.runtime === 'kubernetes';
    const lastKnown = isKnown ? (await findSimulation(parts.pool)) === undefined : null;
    const isSimulated = await isPretended(() => hasGpuNodes(settings, logger, lastKnown));
    const shared = { settings, installation: installation.id, logger };
    const runtime = createKubernetesRuntime({ ...shared, gpus: isSimulated ? gpus : null });
    const { storage } = runtime;
    if (isSimulated) return { runtime: await pretend(runtime), storage, notices: [simulated] };
    await ensureSimulation(parts.pool, null);
    return { runtime, storage, notices: [] };
  };
  if (config.runtime === 'kubernetes') return createPods();
  if (config.runtime === 'simulated') {
    const { createSimulatedRuntime } = await import('../runtimes/simulated/simulated-runtime.ts');
    return {
      runtime: await pretend(createSimulatedRuntime({ gpus, installation: installation.id })),
      storage: createDirectories(config, installation, logger),
      notices: ['No worker really runs: the runtime is simulated'],
    };
  }
  if (config.runtime !== 'process') {
    const { createDockerRuntime } = await import('../runtimes/docker/docker-runtime.ts');
    const { listNvidiaGpus } = await import('../runtimes/docker/nvidia-gpus.ts');
    const isSimulated = await isPretended(async () => (await listNvidiaGpus()).length > 0);
    const docker = createDockerRuntime({
      installation: installation.id,
      gpus: isSimulated ? gpus : null,
      publishIp: config.publishIp,
      stateDir: join(config.dataDir, 'docker'),
      logger,
    });
    const cause = await docker.workerApiAddress().then(
      () => undefined,
      (error: unknown) => error,
    );
    const storage = createDirectories(config, installation, logger);
    if (cause === undefined && isSimulated) return { runtime: await pretend(docker), storage, notices: [simulated] };
    if (cause === undefined) {
      await ensureSimulation(parts.pool, null);
      return { runtime: docker, storage, notices: [] };
    }
    if (config.runtime === 'docker') throw cause;
    if (config.kubernetes.inCluster !== null) return createPods();
  }
  const { createProcessRuntime } = await import('../runtimes/process/process-runtime.ts');
  const runtime = createProcessRuntime({
    stateDir: join(config.dataDir, 'process'),
    hostEnv: config.hostEnv,
    imagesFiles: [...config.imagesFiles, join(config.dataDir, 'images.json'), OWN_IMAGES_FILE],
    installation: installation.id,
    gpus,
    logger,
  });
  const isolation = 'No container engine is used: workers run as processes of this machine, without isolation';
  const storage = createDirectories(config, installation, logger);
  return { runtime: await pretend(runtime), storage, notices: pools === '' ? [isolation] : [isolation, simulated] };
}

function createDirectories(config: Config, installation: Installation, logger: Logger): WorkloadStorage {
  const root = join(config.dataDir, 'storage', installation.id);
  return new StorageDirectories({ root, quotas: new StorageQuotas({ root, logger }) });
}

/** A runtime whose GPUs are simulated can be made to pretend that they run short; every process hears of it. */
async function withShortage(
  inner: Runtime,
  inventory: Map<string, number>,
  gpus: readonly SimulatedGpus[],
  { pool, bus, logger }: { pool: Pool; bus: Bus; logger: Logger },
): Promise<Runtime> {
  await ensureSimulation(pool, gpus);
  const runtime = new ShortageRuntime({ inner, inventory, simulation: await getSimulation(pool) });
  const look = async () => {
    const simulation = await findSimulation(pool);
    if (simulation) runtime.pretend(simulation);
  };
  bus.subscribe('simulation', () => {
    look().catch((error) => logger.warn({ err: error }, 'what is simulated could not be read'));
  });
  return runtime;
}
