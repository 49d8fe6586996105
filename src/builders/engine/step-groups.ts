/**
 * The control groups of the programs that a build runs. BuildKit takes no limits of memory and CPUs for a build, and Podman continues a
 * step after the build was cancelled. Where the engine is on this machine, and this process may, both are done here: each step has a
 * variable that names its build (STEP_VARIABLE), by which its processes are found.
 */
import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxProcesses } from '../../engine/max-processes.ts';
import type { BuildLimits } from '../builder.ts';

/**
 * A variable that engines pass to steps, and leave out of what they compare with their cache. It names hosts that need no proxy: one
 * more host, which does not exist, changes nothing.
 */
export const STEP_VARIABLE = 'NO_PROXY';

const CPU_PERIOD_US = 100_000;

const KILL_PAUSE_MS = 20;
const KILLS = 250;

/** The host that marks the steps of a build, or of all builds of an installation. */
export function stepHost(installation: string, buildId?: string): string {
  return `${buildId === undefined ? '' : `${buildId}.`}${installation}.builds.podyard.internal`;
}

/** A file of a controller in version 1 of control groups, and in version 2, with what is written there. */
type Bound = [controller: string, version1: string, version2: string, value: string | number];

export interface StepGroup {
  /** Limits what its programs use together. False if that is not possible. `place`: of the build among those that run. */
  bound(limits: BuildLimits, place: number): Promise<boolean>;
  /** Ends all its programs, and removes it. */
  kill(): Promise<void>;
}

/** How often the environment of a process is read: a program that replaces another in its process has one of its own. */
const READS = 5;
/** Reads without the host after which a group is no step's. The environment of a process that forks without end comes slowly. */
const MAX_MISSES = 64;
/** While no process begins, one look of so many lists them: the number of the last one is a hint. */
const IDLE_LOOKS = 5;

/** Finds the groups of steps that have a host. It asks a process, and a group, only a few times, because a machine may have thousands. */
export class StepFinder {
  readonly #host: string;
  readonly #root: string;
  #reads = new Map<string, number>();
  /** By group: how often an environment there had no host. */
  readonly #misses = new Map<string, number>();
  #lastPid = '';
  /** Looks since a process has begun. */
  #looks = 0;

  constructor(host: string, root = '') {
    this.#host = host;
    this.#root = root;
  }

  /** Leaves out the processes that are there now. Before a build begins, none is a step of it. */
  async leaveOutPresent(): Promise<void> {
    this.#reads = new Map((await this.#pids()).map((pid) => [pid, READS]));
  }

  /**
   * Yields the groups with processes that were not there before, each as soon as it is seen: a step that forks without end is bounded
   * before all that it has forked is read. None where this process may see none.
   */
  async *find(): AsyncGenerator<StepGroup> {
    const root = this.#root;
    if (!(await this.#isDue())) return;
    const pids = await this.#pids();
    const own = await readFile(`${root}/proc/self/cgroup`, 'utf8').catch(() => '');
    this.#reads = new Map(pids.map((pid) => [pid, (this.#reads.get(pid) ?? 0) + 1]));
    const seen = new Set(['', own]);
    for (const pid of pids) {
      if (this.#reads.get(pid)! > READS) continue;
      const paths = await readFile(`${root}/proc/${pid}/cgroup`, 'utf8').catch(() => '');
      const misses = this.#misses.get(paths) ?? 0;
      if (seen.has(paths) || misses >= MAX_MISSES) continue;
      const environ = await readFile(`${root}/proc/${pid}/environ`, 'latin1').catch(() => '');
      if (!environ.includes(this.#host)) {
        this.#misses.set(paths, misses + 1);
        continue;
      }
      seen.add(paths);
      yield new CgroupOfStep(paths, `${root}/sys/fs/cgroup`);
    }
  }

  /** True while processes begin, and for as many looks after it as one is asked. */
  async #isDue(): Promise<boolean> {
    const text = await readFile(`${this.#root}/proc/loadavg`, 'latin1').catch(() => '');
    const lastPid = text.trim().split(' ').at(-1)!;
    this.#looks = lastPid === this.#lastPid && lastPid !== '' ? this.#looks + 1 : 0;
    this.#lastPid = lastPid;
    return this.#looks <= READS || this.#looks % IDLE_LOOKS === 0;
  }

  async #pids(): Promise<string[]> {
    return (await readdir(`${this.#root}/proc`).catch(() => [])).filter((name) => /^\d+$/.test(name));
  }
}

class CgroupOfStep implements StepGroup {
  readonly #root: string;
  /** By controller; by the empty name in version 2. */
  readonly #paths = new Map<string, string>();

  /** `paths`: as in `/proc/<pid>/cgroup`. */
  constructor(paths: string, root: string) {
    this.#root = root;
    for (const line of paths.trim().split('\n')) {
      const [, controllers, path] = /^\d+:([^:]*):(.+)$/.exec(line) ?? [];
      for (const controller of controllers?.split(',') ?? []) this.#paths.set(controller, path!);
    }
  }

  async bound({ memoryBytes, cpus }: BuildLimits, place: number): Promise<boolean> {
    await this.#keepTo(Math.ceil(cpus), place);
    const quota = Math.round(cpus * CPU_PERIOD_US);
    const bounds: Bound[] = [
      ['pids', 'pids.max', 'pids.max', maxProcesses(cpus)],
      ['memory', 'memory.limit_in_bytes', 'memory.max', memoryBytes],
      ['cpu', 'cpu.cfs_quota_us', 'cpu.max', this.#paths.has('cpu') ? quota : `${quota} ${CPU_PERIOD_US}`],
    ];
    const done = await Promise.all(bounds.map((bound) => this.#write(bound)));
    return done.every((one) => one);
  }

  /**
   * Limits it to `count` CPUs, next to those of the build in the place before. A quota alone is spent on all CPUs at once: for that part of
   * each period no CPU is free (docs/decisions/0161-builds-beside-jobs.md).
   */
  async #keepTo(count: number, place: number): Promise<void> {
    const folder = this.#folderOf('cpuset');
    if (folder === null) return;
    const file = this.#paths.has('cpuset') ? 'cpuset.cpus' : 'cpuset.cpus.effective';
    const cpus = cpusIn(await readFile(join(folder, file), 'utf8').catch(() => ''));
    if (cpus.length <= count) return; // it keeps to them already, or the machine has no more
    const own = Array.from({ length: count }, (_, i) => cpus.at(-1 - ((place * count + i) % cpus.length))!);
    await this.#write(['cpuset', 'cpuset.cpus', 'cpuset.cpus', own.join(',')]);
  }

  async kill(): Promise<void> {
    await this.#write(['pids', 'pids.max', 'pids.max', 0]); // else one that forks could stay ahead
    for (let left = KILLS; left > 0; left--) {
      const pids = await this.#pids();
      if (pids.length === 0) return this.#remove();
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // it has ended
        }
      }
      await sleep(KILL_PAUSE_MS);
    }
  }

  /** An engine that was killed leaves them; one that runs has removed them, or will. */
  async #remove(): Promise<void> {
    for (const controller of this.#paths.keys()) {
      const folder = this.#folderOf(controller);
      if (folder !== null) await rmdir(folder).catch(() => {});
    }
  }

  async #pids(): Promise<number[]> {
    const folder = this.#folderOf('pids');
    if (folder === null) return [];
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    return text.split('\n').filter(Boolean).map(Number);
  }

  async #write([controller, version1, version2, value]: Bound): Promise<boolean> {
    const folder = this.#folderOf(controller);
    if (folder === null) return false;
    const file = join(folder, this.#paths.has(controller) ? version1 : version2);
    return writeFile(file, String(value), { flag: 'r+' }).then(
      () => true,
      () => false,
    );
  }

  /** Never the root: a process there is in no group of its own. */
  #folderOf(controller: string): string | null {
    const isVersion1 = this.#paths.has(controller);
    const path = this.#paths.get(isVersion1 ? controller : '') ?? '/';
    if (path === '/' || path.includes('..')) return null;
    return join(this.#root, isVersion1 ? controller.replace('name=', '') : '', path);
  }
}

/** Returns the numbers in a list such as `0-3,8`. */
function cpusIn(list: string): number[] {
  return [...list.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );
}
