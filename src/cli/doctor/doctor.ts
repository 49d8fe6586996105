import { lstat, mkdtemp, rmdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DEFAULT_PATH } from '../../config/build-settings.ts';
import type { Config } from '../../config/config.ts';
import { messageOf } from '../../core/errors.ts';
import { makeFolder } from '../../core/files/make-folder.ts';
import { readDisk } from '../../core/files/read-disk.ts';
import { networkReason } from '../../core/text/network-reason.ts';
import { makeDataDir } from '../../db/make-data-dir.ts';
import { useCatalog } from '../../domain/catalog/catalog.ts';
import { readCatalogFile } from '../../domain/catalog/read-catalog-file.ts';
import type { Gpu, GpuSource } from '../../runtimes/gpus/gpu.ts';
import type { CliOutput, DoctorOptions } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { checkEgress, checkUsers } from './check-egress.ts';
import { checkGit } from './check-git.ts';
import { checkModels } from './check-models.ts';
import { checkNames } from './check-names.ts';
import type { Finding } from './finding.ts';

const NODE_MAJOR = 24;
const MIN_FREE_GIB = 2;
const MARKS: Record<Finding['verdict'], string> = { ok: 'ok  ', note: 'note', missing: 'MISS' };

/**
 * Prints what a server with this configuration would use of this machine or cluster, and how to fix what is missing.
 * Resolves with true if it can run.
 */
export async function runDoctor(
  config: Config,
  { isJson, isOffline }: DoctorOptions,
  output: CliOutput,
): Promise<boolean> {
  const findings = await Promise.all([
    checkNode(),
    checkMachine(),
    checkRuntime(config),
    checkDatabase(config),
    checkDisk(config),
    config.runtime === 'simulated' ? [] : checkModels(config, isOffline),
    checkPort(config),
    checkSettings(config),
  ]).then((all) => all.flat());
  if (isJson) output.print(jsonText(findings));
  else
    for (const { what, verdict, found, advice } of findings) {
      output.print(`${MARKS[verdict]}  ${what.padEnd(10)} ${found}`);
      if (advice) output.print(`                 ${advice}`);
    }
  return findings.every(({ verdict }) => verdict !== 'missing');
}

async function checkNode(): Promise<Finding> {
  const isFit = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;
  const what = 'Node.js';
  if (isFit) return { what, verdict: 'ok', found: process.version };
  return { what, verdict: 'missing', found: process.version, advice: `Podyard needs Node.js ${NODE_MAJOR} or newer.` };
}

async function checkMachine(): Promise<Finding> {
  return { what: 'machine', verdict: 'ok', found: `${availableParallelism()} CPUs, ${gib(totalmem())} of memory` };
}

/** Checks where workers would run, in the order of `--runtime auto`. */
async function checkRuntime(config: Config): Promise<Finding[]> {
  const isCluster = config.runtime === 'kubernetes';
  const engine = isCluster ? null : await checkEngine(config);
  const hasEngine = engine?.verdict === 'ok';
  const machine = engine === null ? [] : [engine, ...(await checkGpus(config, hasEngine)), await checkSleep(config)];
  const isInCluster = config.runtime === 'auto' && !hasEngine && config.kubernetes.inCluster !== null;
  if (isCluster || isInCluster) {
    const own = [checkOwnCluster(config), checkBuilds(config), checkNames(config, true), checkUsers(config)];
    return (await Promise.all(own)).flat();
  }
  if (config.runtime === 'simulated') return machine;
  const git = checkGit(config.buildEnv.PATH ?? DEFAULT_PATH).then((finding) => [finding]);
  const own = [git, checkNames(config, false), checkContainerDisks(config, hasEngine), checkEgress(config, hasEngine)];
  return [...machine, ...(await Promise.all(own)).flat()];
}

async function checkOwnCluster(config: Config): Promise<Finding[]> {
  if (config.catalogFile !== null) useCatalog(await readCatalogFile(config.catalogFile));
  const { checkCluster } = await import('./check-cluster.ts');
  return checkCluster({
    settings: config.kubernetes,
    isControl: config.roles.has('control'),
    egress: config.egress.mode,
    areGpusSimulated: config.simulateGpus !== null && config.simulateGpus.length > 0,
  });
}

async function checkEngine(config: Config): Promise<Finding> {
  const what = 'engine';
  if (config.runtime === 'process') return { what, verdict: 'note', found: 'not used: --runtime process' };
  const { Engine } = await import('../../engine/engine.ts');
  try {
    const request = { method: 'GET', path: '/version', timeoutMs: 3_000 } as const;
    const { Version } = await new Engine(undefined).json<{ Version: string }>(request);
    return { what, verdict: 'ok', found: `a container engine answers, version ${Version}` };
  } catch (error) {
    const verdict = config.runtime === 'docker' ? 'missing' : 'note';
    return { what, verdict, found: messageOf(error), advice: engineAdvice(error) };
  }
}

/** Returns how to get an engine, after this error of the one that was tried. */
export function engineAdvice(error: unknown): string {
  const isForbidden = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES';
  const remedy = isForbidden
    ? 'This user may not use the one that is here: sudo usermod -aG docker "$USER", then sign in again'
    : 'On Debian or Ubuntu: apt-get install docker.io';
  return `Without one, workers run as processes, without isolation. ${remedy}`;
}

/** A start warns of the same. */
async function checkContainerDisks(config: Config, hasEngine: boolean): Promise<Finding[]> {
  if (config.runtime === 'process' || !hasEngine) return [];
  const [{ Engine }, { diskNoticeOf, EngineMachine }] = await Promise.all([
    import('../../engine/engine.ts'),
    import('../../runtimes/docker/engine/engine-machine.ts'),
  ]);
  const machine = await new EngineMachine(new Engine(undefined)).read().catch(() => null); // checkEngine says why
  const found = machine && diskNoticeOf(machine);
  if (found === null) return [];
  const advice = 'Put the engine’s data on XFS mounted with pquota, on btrfs or on ZFS.';
  return [{ what: 'disks', verdict: 'note', found, advice }];
}

async function checkGpus(config: Config, hasEngine: boolean): Promise<Finding[]> {
  const what = 'GPUs';
  const { shareGpus: shares, gpuProbeImage: image } = config;
  const [{ detectGpus }, { LocalGpus }, { SIMULATED_BESIDE_REAL, sharingNotice }] = await Promise.all([
    import('../../runtimes/gpus/gpu.ts'),
    import('../../runtimes/gpus/local-gpus.ts'),
    import('../../runtimes/gpus/gpu.ts'),
  ]);
  const sources: [GpuSource, ...GpuSource[]] = [new LocalGpus({ shares })];
  if (hasEngine) {
    const { EngineGpus } = await import('../../runtimes/docker/gpus/engine-gpus.ts');
    sources.push(new EngineGpus({ installation: 'doctor', shares, image }));
  }
  const isSimulated = config.simulateGpus !== null && config.simulateGpus.length > 0;
  const { reading } = await detectGpus(isSimulated ? [sources[0]] : sources);
  const hasGpus = reading.state === 'read' && reading.gpus.length > 0;
  if (isSimulated) return [{ what, verdict: 'note', found: hasGpus ? SIMULATED_BESIDE_REAL : SIMULATED }];
  if (reading.state === 'unreadable') {
    return [{ what, verdict: 'missing', found: `cannot be read: ${reading.problem}`, advice: `${reading.advice}.` }];
  }
  if (reading.state === 'absent') return [noGpus(config)];
  const faulty = reading.faulty.map(
    ({ uuid, busId, fault }): Finding => ({
      what,
      verdict: 'missing',
      found: `${uuid ?? busId} does not answer: ${fault}`,
    }),
  );
  const shared = hasGpus && shares > 1 ? [{ what, verdict: 'note' as const, found: sharingNotice(shares) }] : [];
  return [{ what, verdict: hasGpus ? 'ok' : 'missing', found: summaryOf(reading.gpus) }, ...shared, ...faulty];
}

const SIMULATED = 'simulated, as --simulate-gpus says';

function noGpus({ simulateGpus }: Config): Finding {
  return {
    what: 'GPUs',
    verdict: 'note',
    found: simulateGpus === null ? 'none: 4 GPUs of pool ADA_24 are simulated' : 'none',
    advice: 'Workers run on the CPU. For NVIDIA GPUs, install the driver and the NVIDIA Container Toolkit.',
  };
}

/** Says which idle workers can give their GPUs to others (docs/guide/flashboot.md, "Share GPUs between endpoints"). */
async function checkSleep(config: Config): Promise<Finding> {
  const what = 'GPU sleep';
  const byThemselves = 'idle workers with sleep handlers or URLs give their GPUs to others';
  if (config.simulateGpus !== null && config.simulateGpus.length > 0)
    return { what, verdict: 'ok', found: byThemselves };
  const { findCheckpointHindrance } = await import('../../runtimes/cuda-checkpoint.ts');
  const hindrance = await findCheckpointHindrance();
  if (hindrance === null)
    return { what, verdict: 'ok', found: 'all idle workers that use CUDA give their GPUs to others' };
  return { what, verdict: 'ok', found: `${byThemselves}; others do not: ${hindrance}` };
}

/** `2 × NVIDIA L4 (pool AMPERE_24), CUDA 12.4`. */
function summaryOf(gpus: readonly Gpu[]): string {
  const groups = Map.groupBy(gpus, ({ gpuTypeId, pool, cudaVersion }) => {
    const cuda = cudaVersion === null ? '' : `, CUDA ${cudaVersion}`;
    return `${gpuTypeId} (pool ${pool})${cuda}`;
  });
  return [...groups].map(([text, group]) => `${group.length} × ${text}`).join('; ') || 'the driver finds none';
}

/** Connects to the external database, if there is one. */
export async function checkDatabase(config: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<Finding> {
  const what = 'database';
  if (config.databaseUrl === null) return { what, verdict: 'ok', found: `embedded PostgreSQL in ${config.dataDir}` };
  const [{ default: pg }, { connectionOptions }, { findPooler }] = await Promise.all([
    import('pg'),
    import('../../db/connection-options.ts'),
    import('../../db/pooler.ts'),
  ]);
  const { databaseUrl } = config;
  const client = new pg.Client(
    connectionOptions({ databaseUrl, applicationName: 'podyard doctor', connectTimeoutMs: 5_000 }),
  );
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string }>("select current_setting('server_version') as version");
    const pooler = (await findPooler(databaseUrl)) ? ' through a connection pooler in session mode' : '';
    return { what, verdict: 'ok', found: `PostgreSQL ${rows[0]!.version} answers${pooler}` };
  } catch (error) {
    return {
      what,
      verdict: 'missing',
      found: networkReason(error, client.host),
      advice: 'Check DATABASE_URL and that the server is running.',
    };
  } finally {
    await client.end().catch(() => {});
  }
}

async function checkDisk(config: Config): Promise<Finding> {
  const what = 'data';
  const folder = resolve(config.dataDir);
  try {
    const isThere = await lstat(folder).then(() => true, () => false); // biome-ignore format: one thing
    const place = isThere ? folder : dirname(folder); // if it is a mounted volume, its parent says nothing about it
    await (isThere ? makeDataDir(folder) : makeFolder(place));
    await rmdir(await mkdtemp(join(place, '.podyard-doctor-'))); // root may write to /proc, but make nothing there
    const { freeBytes: free } = await readDisk(place);
    if (free >= MIN_FREE_GIB * 2 ** 30) return { what, verdict: 'ok', found: `${folder}, ${gib(free)} free` };
    return {
      what,
      verdict: 'note',
      found: `${folder}, only ${gib(free)} free`,
      advice: 'Images and results need space.',
    };
  } catch (error) {
    return { what, verdict: 'missing', found: messageOf(error), advice: 'Choose another directory with --data-dir.' };
  }
}

/** A start warns of the same. */
async function checkSettings({ warnings }: Config): Promise<Finding[]> {
  return warnings.map((found) => ({ what: 'settings', verdict: 'note', found }));
}

/** A port in use may mean that a server is already running. */
async function checkPort(config: Config): Promise<Finding> {
  const what = 'port';
  const place = `${config.host}:${config.port}`;
  const isFree = await new Promise<boolean>((answer) => {
    const server = createServer();
    server.once('error', () => answer(false));
    server.listen(config.port, config.host, () => server.close(() => answer(true)));
  });
  if (isFree) return { what, verdict: 'ok', found: `${place} is free` };
  const health = await fetch(`http://${place}/healthz`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  if (health?.ok) return { what, verdict: 'note', found: `a server is already running at http://${place}` };
  return {
    what,
    verdict: 'missing',
    found: `${place} is in use by another program`,
    advice: 'Choose another port with --port.',
  };
}

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

const what = 'builds';

/** Tries what would build and keep images for the nodes of a cluster. */
async function checkBuilds(config: Config): Promise<Finding[]> {
  const { engine: address, registry: wanted, atOnce } = config.builds;
  if (atOnce === 0) return [];
  if (address === null || wanted === null) {
    const advice = 'To deploy folders, set PODYARD_BUILD_ENGINE and PODYARD_BUILD_REGISTRY (docs/guide/builds.md).';
    return [{ what, verdict: 'note', found: 'none: images come from registries alone', advice }];
  }
  const [{ createPushingBuilder }, { Engine }, { readBuildEngine, readBuildRegistry }] = await Promise.all([
    import('../../builders/pushed/pushing-builder.ts'),
    import('../../engine/engine.ts'),
    import('../../builders/pushed/read-places.ts'),
  ]);
  try {
    const [place, registry] = await Promise.all([readBuildEngine(config), readBuildRegistry(config)]);
    const engine = new Engine(place);
    const builder = createPushingBuilder({ engine, registry: registry!, installation: '', isUsed: async () => false });
    const hindrance = await builder.hindrance().finally(() => engine.close());
    const found = hindrance ?? `an engine builds, and ${wanted.host}/${wanted.repository} answers`;
    return [{ what, verdict: hindrance === null ? 'ok' : 'note', found }];
  } catch (error) {
    return [{ what, verdict: 'missing', found: messageOf(error) }];
  }
}
