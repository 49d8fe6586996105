import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { OutputLog } from './output-log.ts';
import type { WorkloadFolders } from './workload-folders.ts';

interface FollowedFoldersDeps {
  folders: WorkloadFolders;
  maxLogBytes: number;
  onEnd: (id: string) => void;
  logger: Logger;
}

/** The workload folders this process follows: their output as it grows, and their end. */
export class FollowedFolders {
  readonly #deps: FollowedFoldersDeps;
  readonly #followed = new Map<string, { log: OutputLog; watcher: FSWatcher | undefined }>();

  #hasReported = false;

  constructor(deps: FollowedFoldersDeps) {
    this.#deps = deps;
  }

  /** Starts following, unless it does already. */
  follow(id: string): OutputLog {
    const followed = this.#followed.get(id);
    if (followed) return followed.log;
    const folder = this.#deps.folders.pathOf(id);
    const log = new OutputLog(join(folder, 'output.log'), this.#deps.maxLogBytes, {
      onError: (error) => this.#report(id, error),
    });
    this.#followed.set(id, { log, watcher: this.#watch(folder, id, log) });
    return log;
  }

  /** Call when something happened to the workload: picks up new output, and lets readers find out that it ended. */
  refresh(id: string): void {
    this.#followed.get(id)?.log.refresh();
  }

  unfollow(id: string): void {
    const followed = this.#followed.get(id);
    this.#followed.delete(id);
    followed?.watcher?.close();
    followed?.log.close();
  }

  close(): void {
    for (const id of [...this.#followed.keys()]) this.unfollow(id);
  }

  /** Once for all workloads, until this process ends: they fail together, and readers try again. */
  #report(workloadId: string, error: unknown): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#deps.logger.warn({ workloadId, err: error }, 'a workload log cannot be read or indexed; trying again');
  }

  /** Notices output, and the end of workloads that an earlier process started. Where the system cannot watch, readers poll. */
  #watch(folder: string, id: string, log: OutputLog): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false }, (_, file) => {
        if (file === 'output.log') log.changed();
        else if (file === 'exit') this.#deps.onEnd(id);
      });
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch (error) {
      this.#deps.logger.warn({ workloadId: id, err: error }, 'workload folder cannot be watched');
      return undefined;
    }
  }
}
