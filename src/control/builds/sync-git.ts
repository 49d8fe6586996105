import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Failure, messageOf } from '../../core/errors.ts';
import type { NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import type { GitCommit } from '../../domain/builds/build.ts';
import type { NewBuild } from '../../domain/builds/change-build.ts';
import { contentHashOf } from '../../domain/builds/content-hash.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { buildCommit } from '../../domain/git-sources/build-commit.ts';
import type { GitSettings } from '../../domain/git-sources/git-source.ts';
import {
  type DueSource,
  endLook,
  findNewestContent,
  type LookEnd,
  listDueSources,
  nextLookMs,
} from '../../domain/git-sources/git-source-store.ts';
import { addressOf, asHttps, inWordsOfGit } from '../../domain/git-sources/git-url.ts';
import { isPublicAddress, type WebhookPolicy, WebhookRefused } from '../../domain/jobs/webhook-policy.ts';
import { signalMarked } from '../../runtimes/process/process-group.ts';
import { gitIsMissing, PassingGitFailure } from './git-failure.ts';
import { type CheckedOut, GIT_MARKER, GitRepository, type Head } from './git-repository.ts';
import type { ReadFields } from './read-commit-project.ts';
import { UserTaskLoop } from './user-task-loop.ts';

const TICK_MS = 60_000;
/** Looks at once, and one of each user. */
const AT_ONCE = 3;
const FIRST_RETRY_SECONDS = 30;
const MAX_RETRY_SECONDS = 3_600;
/** After so many failures in a row, only a poll or somebody who asks looks again. */
const MAX_FAILURES = 6;
/** Faults of a folder that an error names. */
const MAX_FAULTS = 5;

interface Deps {
  pool: Pool;
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>;
  logger: Logger;
  secretBox: SecretBox;
  webhooks: WebhookPolicy;
  /** Where repositories are read. Whatever is in it at the start is removed. */
  folder: string;
  /** `PATH`, to find git. */
  path: string;
  /** Limit of what is fetched. */
  maxBytes: number;
  readFields: ReadFields;
  /** Limit of one look. */
  timeoutMs: number;
}

/**
 * Looks at the repositories of endpoints when their time has come or somebody asks, and queues a build of each new commit. A look
 * that is killed leaves nothing behind, and is repeated.
 */
export class GitSync extends UserTaskLoop {
  readonly #deps: Deps;
  #isTidy = false;

  constructor(deps: Deps) {
    const { bus, logger } = deps;
    const subscribe = (wake: () => void) => [bus.subscribe('git', wake), bus.onGap(wake)];
    super({ name: 'sync-git', tickMs: TICK_MS, logger, subscribe, atOnce: AT_ONCE });
    this.#deps = deps;
  }

  protected override async run(): Promise<NextRun | undefined> {
    const { pool, folder } = this.#deps;
    if (!this.#isTidy) {
      signalMarked(`${GIT_MARKER}=${folder}`, 'SIGKILL');
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true, mode: 0o700 });
      this.#isTidy = true;
    }
    for (const source of await listDueSources(pool)) {
      if (this.isFull) return undefined;
      this.startTask(source.userId, () => this.#look(source), { gitSourceId: source.id });
    }
    const inMs = this.isIdle ? await nextLookMs(pool) : null; // the end of a look wakes the loop
    return inMs === null ? undefined : { inMs };
  }

  async #look(source: DueSource): Promise<void> {
    const { pool, logger, folder, path, maxBytes, timeoutMs } = this.#deps;
    const { id, endpointId, url } = source;
    const own = join(folder, id);
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([timeout, this.stopping]);
    let repository: GitRepository | undefined;
    let seen: Head | null = null;
    let failure: Failure | null = null;
    try {
      repository = await GitRepository.open(source, own, await this.#access(source), { path, maxBytes, signal });
      const head = await repository.findHead();
      if (head.commit !== source.lastCommit || (source.isAsked && source.commitError !== null)) {
        seen = head;
        seen = await this.#take(source, repository, head);
      }
    } catch (error) {
      if (this.stopping.aborted) throw error;
      failure = toFailure(error, { isTimeout: timeout.aborted, url, timeoutMs });
      if (!(error instanceof Failure))
        logger.error({ gitSourceId: id, endpointId, err: error }, 'a repository could not be read');
      if (failure instanceof PassingGitFailure) seen = null; // the commit is looked at again
    } finally {
      const knownHosts = (await repository?.readKnownHosts()) ?? source.knownHosts;
      await rm(own, { recursive: true, force: true });
      if (!this.stopping.aborted) await endLook(pool, source, endOf(source, { seen, failure, knownHosts }));
    }
    logger.info(
      { gitSourceId: id, endpointId, commit: seen?.commit, problem: failure?.message },
      'looked at a repository',
    );
  }

  /** Connects to an address that is allowed, and opens what the host wants to see. */
  async #access({ id, url, auth, secret, tokenSecretId, token, privateKey }: DueSource) {
    const { webhooks, secretBox } = this.#deps;
    if (auth === 'TOKEN' && token === null) {
      throw new Failure(
        'unprocessable',
        'The secret with the token was deleted: connect the repository again, with another one.',
      );
    }
    const { protocol, host } = addressOf(url);
    const { address } = await webhooks.resolve(asHttps(new URL(url))).catch((error: unknown) => {
      if (error instanceof WebhookRefused)
        throw new Failure('unprocessable', `${url} is not read: ${inWordsOfGit(error.message)}.`);
      throw new PassingGitFailure('unavailable', `${host} cannot be reached: ${messageOf(error)}.`);
    });
    if (protocol === 'http' && isPublicAddress(address)) {
      throw new Failure(
        'unprocessable',
        `${url} is not read: without TLS, anyone on the way could change the code. Use https.`,
      );
    }
    const open = (sealed: Buffer | null, recordId: string, what: string) => {
      try {
        return sealed === null ? null : secretBox.open(sealed, recordId);
      } catch (cause) {
        throw new Failure('unprocessable', `${what} cannot be opened: the server’s log says why.`, { cause });
      }
    };
    return {
      address,
      token: auth === 'TOKEN' ? open(token, tokenSecretId!, `The secret '${secret}'`) : null,
      privateKey: auth === 'DEPLOY_KEY' ? open(privateKey, id, 'The deploy key') : null,
    };
  }

  /** Builds a commit, unless the newest build has the same content. Returns what was fetched: the ref may have moved. */
  async #take(source: DueSource, repository: GitRepository, head: Head): Promise<Head> {
    const { pool } = this.#deps;
    const git = await repository.fetch(head);
    const folder = await repository.checkOut(git);
    const { userId } = source;
    const project = source.applySettings ? await this.#readProject(source, folder) : null;
    const build = { ...project?.build, ...source.build };
    const { readCommitFolder, storeFolder } = await import('./read-commit.ts');
    const input = await readCommitFolder(folder, { ...source, build });
    const made = { contentHash: contentHashOf(input), settings: project?.settings ?? null };
    if (!isDeepStrictEqual(await findNewestContent(pool, source.id), made)) {
      await storeFolder(pool, userId, folder.root, input.entries);
      await this.#queue(source, input, { git, settings: made.settings });
    }
    return { commit: git.commit, ref: git.ref };
  }

  /** Undefined members are left out, as in the row of a build. */
  async #readProject({ userId, endpointId }: DueSource, { root }: CheckedOut) {
    const { pool, readFields } = this.#deps;
    const endpoint = await getEndpointRow(pool, userId, endpointId);
    const { readCommitProject } = await import('./read-commit-project.ts');
    const project = await readCommitProject(pool, root, { userId, endpoint, readFields });
    return JSON.parse(JSON.stringify(project)) as typeof project;
  }

  async #queue(
    source: DueSource,
    input: NewBuild,
    { git, settings }: { git: GitCommit; settings: GitSettings | null },
  ): Promise<void> {
    const { pool, bus, logger } = this.#deps;
    const builds = { hindrance: null }; // this runs only where images are built
    const { id: sourceId, userId, url, branch, tags, folder, build, applySettings } = source;
    const target = { url, branch, tags, folder, build, applySettings };
    try {
      await change({ pool, bus, logger, builds }, systemActor(userId), buildCommit, {
        ...input,
        sourceId,
        target,
        git,
        settings,
      });
    } catch (error) {
      if (!(error instanceof Failure && (error.kind === 'tooManyRequests' || error.kind === 'conflict'))) throw error;
      throw new PassingGitFailure('unavailable', `The build waits: ${error.message}.`, { cause: error });
    }
  }
}

function toFailure(
  error: unknown,
  { isTimeout, url, timeoutMs }: { isTimeout: boolean; url: string; timeoutMs: number },
): Failure {
  if (isTimeout)
    return new PassingGitFailure(
      'unavailable',
      `Reading ${url} took more than ${Math.round(timeoutMs / 1000)} seconds.`,
    );
  if (error instanceof Failure) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && messageOf(error).includes('spawn')) return gitIsMissing();
  if (code === 'ENOSPC') return new PassingGitFailure('unavailable', 'The disk of the server is full.');
  return new PassingGitFailure('internal', 'The repository could not be read: the server’s log says why.');
}

/** Lists what is wrong, as a client of REST would read it. */
function textOf({ message, errors = [] }: Failure): string {
  const faults = errors.slice(0, MAX_FAULTS).map((fault) => fault.replace(/^\/(?:files|recipe)\S*: /, ''));
  return faults.length === 0 ? message : `${message} ${faults.join('; ')}.`;
}

function endOf(
  { pollSeconds, failures: before }: DueSource,
  { seen, failure, knownHosts }: { seen: Head | null; failure: Failure | null; knownHosts: string },
): LookEnd {
  const failures = failure instanceof PassingGitFailure && before + 1 < MAX_FAILURES ? before + 1 : 0;
  const retrySeconds = failures === 0 ? null : Math.min(FIRST_RETRY_SECONDS * 2 ** (failures - 1), MAX_RETRY_SECONDS);
  const soonest = [retrySeconds, pollSeconds].filter((one) => one !== null);
  return {
    seen,
    error: failure && textOf(failure),
    nextSeconds: soonest.length === 0 ? null : Math.min(...soonest),
    failures,
    knownHosts,
  };
}
