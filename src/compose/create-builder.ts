import { availableParallelism, totalmem } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Builder, BuildLimits } from '../builders/builder.ts';
import type { Config } from '../config/config.ts';
import type { Pool } from '../db/pool.ts';
import { isImageUsed } from '../domain/builds/used-images.ts';
import type { Installation } from '../domain/installation.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** Returns why this server builds no images, one sentence; null: it does. */
export function buildHindrance({ builds }: Config, { name }: Runtime): string | null {
  if (builds.atOnce === 0) return 'This server builds no images: PODYARD_BUILDS is 0. Push one to a registry instead.';
  if (name === 'docker' || name === 'process') return null;
  if (name !== 'kubernetes')
    return 'This server builds no images while its runtime is simulated: push one to a registry, and name it.';
  const missing = Object.entries({ PODYARD_BUILD_ENGINE: builds.engine, PODYARD_BUILD_REGISTRY: builds.registry });
  const names = missing.flatMap(([variable, value]) => (value === null ? [variable] : []));
  if (names.length === 0) return null;
  return `This server builds no images on Kubernetes without ${names.join(' and ')}: push one to a registry, and name it.`;
}

/** Where the images of the process runtime are. Not in the folder of an installation, whose runtime would take it for a workload's. */
export function builtImagesIn({ dataDir }: Config): string {
  return join(dataDir, 'images');
}

/** Returns what builds images for this runtime; null where nothing does. */
export async function createBuilder(
  config: Config,
  { runtime, installation, pool }: { runtime: Runtime; installation: Installation; pool: Pool },
): Promise<Builder | null> {
  if (buildHindrance(config, runtime) !== null) return null;
  if (runtime.name === 'docker') {
    const [{ createEngineBuilder }, { Engine }] = await Promise.all([
      import('../builders/engine/engine-builder.ts'),
      import('../engine/engine.ts'),
    ]);
    return createEngineBuilder({
      engine: new Engine(undefined),
      installation: installation.id,
      mirrors: config.registryMirrors,
    });
  }
  const isUsed = (image: string) => isImageUsed(pool, image);
  if (runtime.name === 'kubernetes') {
    const [{ createPushingBuilder }, { Engine }, { readBuildEngine, readBuildRegistry }] = await Promise.all([
      import('../builders/pushed/pushing-builder.ts'),
      import('../engine/engine.ts'),
      import('../builders/pushed/read-places.ts'),
    ]);
    const [address, registry] = await Promise.all([readBuildEngine(config), readBuildRegistry(config)]);
    const engine = new Engine(address);
    const mirrors = config.registryMirrors;
    return createPushingBuilder({ engine, registry: registry!, installation: installation.id, mirrors, isUsed });
  }
  const [{ createProcessBuilder }, { killOrphans, MARKER }] = await Promise.all([
    import('../builders/processes/process-builder.ts'),
    import('../runtimes/process/process-group.ts'),
  ]);
  const path = config.buildEnv.PATH ?? '/usr/local/bin:/usr/bin:/bin';
  return createProcessBuilder({
    root: join(builtImagesIn(config), installation.id),
    env: { ...config.buildEnv, PATH: [dirname(process.execPath), path].join(delimiter) },
    marker: { variable: MARKER, kill: killOrphans },
    isUsed,
  });
}

/** Returns the limits of a build on this machine. */
export function buildLimitsOf({ builds }: Config): BuildLimits {
  const { cpus, memory, timeoutMs, imageBytes } = builds;
  return {
    cpus: cpus || Math.max(1, availableParallelism() / 2),
    memoryBytes: 'bytes' in memory ? memory.bytes : Math.floor(memory.share * totalmem()),
    timeoutMs,
    maxImageBytes: imageBytes,
  };
}
