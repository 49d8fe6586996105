import { join } from 'node:path';
import type { Builder } from '../builders/builder.ts';
import type { Config } from '../config/config.ts';
import { keepBuildsLoop } from '../control/builds/keep-builds.ts';
import { BuildRunner } from '../control/builds/run-builds.ts';
import type { Logger } from '../core/logger.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { buildLimitsOf } from './create-builder.ts';
import { readDiskOf } from './describe-installation.ts';

interface Parts {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  secretBox: SecretBox;
  /** Null: nothing is built. */
  builder: Builder | null;
}

/** Creates what runs builds, and what removes old ones. */
export function createBuildLoops(
  config: Config,
  { builder, ...parts }: Parts,
): [BuildRunner, ReturnType<typeof keepBuildsLoop>] | [] {
  if (builder === null) return [];
  const { atOnce, kept } = config.builds;
  const folder = join(config.dataDir, 'builds');
  const readDisk = () => readDiskOf(config.dataDir);
  return [
    new BuildRunner({ ...parts, builder, limits: buildLimitsOf(config), atOnce, folder }),
    keepBuildsLoop({ ...parts, builder, kept, readDisk }),
  ];
}
