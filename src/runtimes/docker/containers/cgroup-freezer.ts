import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCgroupFolder } from './cgroup-folder.ts';

/** What a version of control groups calls things. `done`: what `status` says once every process is frozen. */
interface Names {
  switch: string;
  frozen: string;
  thawed: string;
  status: string;
  done: RegExp;
}

const VERSION_1: Names = {
  switch: 'freezer.state',
  frozen: 'FROZEN',
  thawed: 'THAWED',
  status: 'freezer.state',
  done: /^FROZEN/,
};
const VERSION_2: Names = {
  switch: 'cgroup.freeze',
  frozen: '1',
  thawed: '0',
  status: 'cgroup.events',
  done: /^frozen 1$/m,
};
/** The kernel freezes most programs in less than a millisecond, one in the middle of a disk access later. */
const POLL_MS = 2;
const POLLS = 250;

/** The kernel's freezer of one container. */
export class CgroupFreezer {
  readonly #folder: string;
  readonly #names: Names;
  readonly #containerId: string;

  constructor(folder: string, isVersion2: boolean, containerId: string) {
    this.#folder = folder;
    this.#names = isVersion2 ? VERSION_2 : VERSION_1;
    this.#containerId = containerId;
  }

  /** The freezer of another container of the same engine. */
  of(containerId: string): CgroupFreezer {
    const folder = this.#folder.replaceAll(this.#containerId, containerId);
    return new CgroupFreezer(folder, this.#names === VERSION_2, containerId);
  }

  /** False when the container cannot be frozen, or not in time: then it runs. */
  async freeze(): Promise<boolean> {
    try {
      for (let left = POLLS; left > 0; left--) {
        await this.#turn(this.#names.frozen); // again, for processes that were just forked
        if (await this.isFrozen()) return true;
        await sleep(POLL_MS);
      }
    } catch {
      // the container has ended
    }
    await this.thaw();
    return false;
  }

  /** False when there is no such container any more, or it may not be thawed. */
  async thaw(): Promise<boolean> {
    try {
      await this.#turn(this.#names.thawed);
      return true;
    } catch {
      return false;
    }
  }

  /** True when every process of the container is frozen. */
  async isFrozen(): Promise<boolean> {
    const status = await readFile(join(this.#folder, this.#names.status), 'utf8').catch(() => '');
    return this.#names.done.test(status);
  }

  /** Rejects unless the freezer is there and this process may write it. */
  checkAccess(): Promise<void> {
    return access(join(this.#folder, this.#names.switch), constants.W_OK);
  }

  #turn(state: string): Promise<void> {
    return writeFile(join(this.#folder, this.#names.switch), state, { flag: 'r+' }); // creates nothing
  }
}

/**
 * Finds a container's freezer. Null where there is none that this process may write: without the right to, when the engine is
 * on another machine, or when Podyard has a PID namespace of its own. `pid`: of the container's first process.
 */
export async function findCgroupFreezer(containerId: string, pid: number, root = ''): Promise<CgroupFreezer | null> {
  try {
    const found = findCgroupFolder(await readFile(`${root}/proc/${pid}/cgroup`, 'utf8'), containerId, 'freezer');
    if (found === null) return null;
    const freezer = new CgroupFreezer(`${root}/sys/fs/cgroup/${found.path}`, found.isVersion2, containerId);
    await freezer.checkAccess();
    return freezer;
  } catch {
    return null;
  }
}
