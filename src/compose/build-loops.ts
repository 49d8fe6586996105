import { join } from 'node:path';
import type { Builder } from '../builders/builder.ts';
import { DEFAULT_PATH } from '../config/build-settings.ts';
import type { Config } from '../config/config.ts';
import { deployGitBuildsLoop } from '../control/builds/deploy-git-builds.ts';
import { keepBuildsLoop } from '../control/builds/keep-builds.ts';
import { CommitStatusPoster } from '../control/builds/post-commit-statuses.ts';
import { BuildRunner } from '../control/builds/run-builds.ts';
import { GitSync } from '../control/builds/sync-git.ts';
import { readDisk } from '../core/files/read-disk.ts';
import type { Loop } from '../core/flow/loop.ts';
import type { Logger } from '../core/logger.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { MAX_FOLDER_BYTES } from '../domain/builds/check-folder.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { readProjectFields } from '../rest/endpoints/wire-2026-07.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { buildLimitsOf } from './create-builder.ts';

/** Limit of one look at a repository. */
const LOOK_TIMEOUT_MS = 600_000;

interface Parts {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  secretBox: SecretBox;
  webhooks: WebhookPolicy;
  runtime: Runtime;
  /** Null: nothing is built. */
  builder: Builder | null;
}

/** Creates what runs builds, what removes old ones, and what builds and deploys commits. */
export function createBuildLoops(
  config: Config,
  { builder, ...parts }: Parts,
): (BuildRunner | GitSync | CommitStatusPoster | Loop)[] {
  if (builder === null) return [];
  const { atOnce, kept, cacheBytes } = config.builds;
  const folder = join(config.dataDir, 'builds');
  const path = config.buildEnv.PATH ?? DEFAULT_PATH;
  return [
    new BuildRunner({ ...parts, builder, limits: buildLimitsOf(config), atOnce, folder }),
    keepBuildsLoop({ ...parts, builder, kept, cacheBytes, readDisk: () => readDisk(config.dataDir) }),
    new GitSync({
      ...parts,
      folder: join(config.dataDir, 'git'),
      path,
      maxBytes: MAX_FOLDER_BYTES,
      timeoutMs: LOOK_TIMEOUT_MS,
      readFields: readProjectFields,
    }),
    deployGitBuildsLoop(parts),
    new CommitStatusPoster({ ...parts, publicUrl: config.publicUrl }),
  ];
}
