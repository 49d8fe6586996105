import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Builder, BuildLimits, BuildRequest } from '../../builders/builder.ts';
import { Failure } from '../../core/errors.ts';
import { doEach } from '../../core/flow/do-each.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { BuildId, UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { buildImageOf } from '../../domain/builds/build-image.ts';
import { readFolder } from '../../domain/builds/build-store.ts';
import { checkBuildImage } from '../../domain/builds/check-build-image.ts';
import {
  type BuildEnd,
  endBuild,
  listUnfinishedBuilds,
  noteWait,
  type OpenedSecrets,
  openBuildSecrets,
  requeueBuild,
  type StartedBuild,
  startBuild,
  type UnfinishedBuild,
} from '../../domain/builds/running-builds.ts';
import { parseImageReference } from '../../domain/images/image-reference.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { BuildLog } from './build-log.ts';
import { decideBuilds } from './decide-builds.ts';
import { writeFolder } from './write-folder.ts';

const TICK_MS = 30_000;
/** A build prints often, and each time there is a hint. */
const PAUSE_MS = 50;
const RETRY_MS = 1_000;
/** How often servers may die while they run a build before it fails: it may be the cause. */
const MAX_INTERRUPTIONS = 2;

const STOPPED = 'the server was stopped: the build begins again';
const KILLED = 'the server ended while it was built: the build begins again';
const KILLED_AGAIN = 'the server ended twice while it was built: build it again, or give builds less memory';
const CANCELLED = 'it was cancelled';

interface Deps {
  pool: Pool;
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>;
  logger: Logger;
  secretBox: SecretBox;
  builder: Builder;
  runtime: Pick<Runtime, 'admitImage' | 'prepare'>;
  limits: BuildLimits;
  /** Builds of all users that run at once. */
  atOnce: number;
  /** Where the folders of running builds are written. Whatever is in it at the start is removed. */
  folder: string;
}

interface Running {
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Runs builds: writes the folder, calls the builder, stores what happens. A build that a killed server leaves is started again once,
 * by whoever leads next; nothing else of it is left (docs/states.md, "Build").
 */
export class BuildRunner {
  readonly #deps: Deps;
  readonly #loop: Loop;
  readonly #running = new Map<BuildId, Running>();
  readonly #stopping = new AbortController();
  #isTidy = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    const { bus } = deps;
    this.#loop = new Loop({
      name: 'run-builds',
      tickMs: TICK_MS,
      logger: deps.logger,
      pauseMs: () => PAUSE_MS,
      runOnce: () => this.#run(),
      subscribe: (wake) => [bus.subscribe('build', wake), bus.subscribe('limits', wake), bus.onGap(wake)],
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Ends what runs, and puts it back to the queue. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#stopping.abort();
    for (const { abort } of this.#running.values()) abort.abort();
    await stopped;
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Resolves when nothing runs any more, for tests. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #run(): Promise<NextRun | undefined> {
    const { pool, atOnce } = this.#deps;
    const builds = await listUnfinishedBuilds(pool);
    if (!this.#isTidy) await this.#tidy(builds);
    for (const { id, isCancelling } of builds) if (isCancelling) this.#running.get(id)?.abort.abort();
    const { start, waits } = decideBuilds(this.#isTidy ? builds : [], atOnce);
    for (const build of builds) {
      const reason = waits.get(build.id);
      if (reason !== undefined && reason !== build.reason) await noteWait(pool, build.id, reason);
    }
    await doEach(start, (id) => this.#start(id));
    return undefined;
  }

  /** Ends what former leaders have left, before anything starts; then looks at the builds again. */
  async #tidy(builds: readonly UnfinishedBuild[]): Promise<void> {
    const { builder, folder } = this.#deps;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if ((await builder.hindrance()) === null) await builder.tidy();
    const left = builds.filter(({ status }) => status !== 'QUEUED');
    for (const build of left) await this.#endLeft(build);
    this.#isTidy = true;
    if (left.length > 0) this.#loop.wake();
  }

  async #endLeft({ id, isCancelling, interruptions }: UnfinishedBuild): Promise<void> {
    const { pool, bus, logger } = this.#deps;
    logger.warn({ buildId: id, interruptions }, 'a build was left by a server that ended');
    if (isCancelling) await endBuild(pool, id, { status: 'CANCELLED', reason: CANCELLED, failedStep: null });
    else if (interruptions + 1 < MAX_INTERRUPTIONS) await requeueBuild(pool, id, { isKilled: true, line: KILLED });
    else await endBuild(pool, id, { status: 'FAILED', reason: KILLED_AGAIN, failedStep: null });
    bus.publish('build', id);
  }

  async #start(id: BuildId): Promise<void> {
    const { pool, bus, logger } = this.#deps;
    if (this.#stopping.signal.aborted) return;
    const build = await startBuild(pool, id);
    if (!build) return;
    bus.publish('build', id);
    const abort = new AbortController();
    const done = this.#build(build, abort.signal)
      .catch((error: unknown) => logger.error({ buildId: id, err: error }, 'running a build failed'))
      .finally(() => {
        this.#running.delete(id);
        this.#loop.wake();
      });
    this.#running.set(id, { abort, done });
  }

  async #build(build: StartedBuild, signal: AbortSignal): Promise<void> {
    const { pool, bus, logger, secretBox, folder } = this.#deps;
    const { id, userId, name } = build;
    const fields = { buildId: id, userId, name };
    logger.info(fields, 'build begins');
    const opened = await openBuildSecrets({ pool, secretBox }, build).catch((error: unknown) => {
      if (error instanceof Failure) return error;
      logger.error({ ...fields, err: error }, 'the secrets of a build could not be opened');
      return new Failure('unprocessable', 'Its secrets could not be opened: the server’s log says why.');
    });
    const log = new BuildLog({ pool, bus, logger }, { id, lastLine: build.lastLine, secrets: textsOf(opened) });
    const own = join(folder, id);
    const end = await this.#make(build, { folder: own, opened, log, signal });
    const removed = rm(own, { recursive: true, force: true }).catch((err: unknown) =>
      logger.error({ ...fields, err }, 'the folder of a build could not be removed'),
    );
    await log.close(this.#stopping.signal);
    if (end === null) await requeueBuild(pool, id, { isKilled: false, line: STOPPED });
    else await this.#retry(() => endBuild(pool, id, end));
    bus.publish('build', id);
    await removed;
    logger.info({ ...fields, status: end?.status ?? 'QUEUED' }, 'build ended');
  }

  /** Returns how the build ended; null: it was stopped with the server. */
  async #make(
    build: StartedBuild,
    parts: {
      folder: string;
      opened: OpenedSecrets | Failure;
      log: BuildLog;
      signal: AbortSignal;
    },
  ): Promise<BuildEnd | null> {
    const { pool, builder, limits, logger } = this.#deps;
    const { id, userId, name, recipe, args, usesCache } = build;
    const { folder, opened, log, signal } = parts;
    try {
      if (opened instanceof Failure) throw opened;
      const hindrance = await builder.hindrance();
      if (hindrance !== null) throw new Failure('unavailable', hindrance);
      await writeFolder(pool, { userId, recipe, entries: await readFolder(pool, id) }, folder, signal);
      const image = buildImageOf(name, id);
      const bases = this.#basesOf(userId, opened.registries);
      const request = { id, image, folder, recipe, args, ...opened, ...bases, usesCache, cacheScope: userId };
      const built = await builder.build(request, { limits, signal, onEvent: (event) => log.add(event) });
      return { status: 'COMPLETED', ...built };
    } catch (error) {
      if (this.#stopping.signal.aborted) return null;
      if (signal.aborted) return { status: 'CANCELLED', reason: CANCELLED, failedStep: null };
      const isFailure = error instanceof Failure;
      if (!isFailure) logger.error({ buildId: id, err: error }, 'a build failed unexpectedly');
      const reason = isFailure ? log.mask(error.message) : 'It failed unexpectedly: the server’s log says why.';
      log.say(reason);
      return { status: 'FAILED', reason, failedStep: log.failedStep };
    }
  }

  /** Base images that a build may use: those of the user's builds, and those that its credentials give access to. */
  #basesOf(userId: UserId, registries: OpenedSecrets['registries']): Pick<BuildRequest, 'admitBase' | 'prepareBase'> {
    const { pool, runtime } = this.#deps;
    const credentialsFor = (image: string) => {
      const parsed = parseImageReference(image);
      return 'fault' in parsed ? undefined : registries[parsed.registry];
    };
    return {
      admitBase: async (image) => {
        await checkBuildImage(pool, userId, image);
        await runtime.admitImage(image, credentialsFor(image));
      },
      prepareBase: async (image, onProgress) => {
        const auth = credentialsFor(image);
        await runtime.prepare(image, { resolve: 'here', onProgress, ...(auth && { auth }) });
      },
    };
  }

  /** Does something with the database until it succeeds, or the server stops. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (this.#stopping.signal.aborted) throw error;
        this.#deps.logger.error({ err: error }, 'the state of a build could not be stored: trying again');
        await sleep(RETRY_MS, undefined, { signal: this.#stopping.signal }).catch(() => {});
      }
    }
  }
}

/** Returns what no line of the log may show. */
function textsOf(opened: OpenedSecrets | Failure): string[] {
  if (opened instanceof Failure) return [];
  return [...Object.values(opened.secrets), ...Object.values(opened.registries).map(({ password }) => password)];
}
