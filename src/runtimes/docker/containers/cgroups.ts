import { constants } from 'node:fs';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A container's control group. `path` is below /sys/fs/cgroup. */
interface CgroupFolder {
  path: string;
  isVersion2: boolean;
}

/**
 * Finds the control group of a controller. The container's ID in its path proves that the process with this PID is the container's. Null
 * when it is not, or has no such controller.
 */
async function findCgroupFolder(
  root: string,
  pid: number,
  containerId: string,
  controller: 'memory' | 'freezer',
): Promise<CgroupFolder | null> {
  const cgroups = await readFile(`${root}/proc/${pid}/cgroup`, 'utf8');
  const lines = cgroups.split('\n').map((line) => /^\d+:([^:]*):\/?(.+)$/.exec(line) ?? ['', '', '']);
  const groups = lines.map(([, controllers, path]) => ({ controllers: controllers!.split(','), path: path! }));
  const isVersion2 = !groups.some(({ controllers }) => controllers.includes(controller));
  const wanted = isVersion2 ? '' : controller;
  const found = groups.find(({ controllers, path }) => controllers.includes(wanted) && path.includes(containerId));
  return found ? { path: isVersion2 ? found.path : `${controller}/${found.path}`, isVersion2 } : null;
}

/**
 * The names of files and values in a version of control groups. `status` says `done` once every process is frozen; `cache` is the
 * file cache in `memory.stat`.
 */
const VERSION_1 = {
  switch: 'freezer.state',
  frozen: 'FROZEN',
  thawed: 'THAWED',
  status: 'freezer.state',
  done: /^FROZEN/,
  usage: 'memory.usage_in_bytes',
  cache: 'total_inactive_file',
};
const VERSION_2: typeof VERSION_1 = {
  switch: 'cgroup.freeze',
  frozen: '1',
  thawed: '0',
  status: 'cgroup.events',
  done: /^frozen 1$/m,
  usage: 'memory.current',
  cache: 'inactive_file',
};
/** The kernel freezes most programs in less than a millisecond, one in the middle of a disk access later. */
const POLL_MS = 2;
const POLLS = 250;

/** The kernel's freezer of one container. */
export class CgroupFreezer {
  readonly #folder: string;
  readonly #names: typeof VERSION_1;
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
    const found = await findCgroupFolder(root, pid, containerId, 'freezer');
    if (found === null) return null;
    const freezer = new CgroupFreezer(`${root}/sys/fs/cgroup/${found.path}`, found.isVersion2, containerId);
    await freezer.checkAccess();
    return freezer;
  } catch {
    return null;
  }
}

/**
 * Returns the memory of a container in bytes, without the file cache that the kernel reclaims as needed. Reads the kernel's figures,
 * because the engine makes a caller wait up to a second for its own. Returns null where the container's processes are not visible:
 * the engine is on another machine, or Podyard has a PID namespace of its own. `pid`: of the container's first process.
 */
export async function readCgroupMemory(containerId: string, pid: number, root = ''): Promise<number | null> {
  try {
    const folder = await findCgroupFolder(root, pid, containerId, 'memory');
    if (folder === null) return null;
    const names = folder.isVersion2 ? VERSION_2 : VERSION_1;
    const [usage, stat] = await Promise.all([
      readFile(`${root}/sys/fs/cgroup/${folder.path}/${names.usage}`, 'utf8'),
      readFile(`${root}/sys/fs/cgroup/${folder.path}/memory.stat`, 'utf8'),
    ]);
    const cache = new RegExp(`^${names.cache} (\\d+)$`, 'm').exec(stat)?.[1] ?? '0';
    return Math.max(0, Number(usage) - Number(cache));
  } catch {
    return null;
  }
}
