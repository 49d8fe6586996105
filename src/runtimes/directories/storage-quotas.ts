/**
 * Limits the size of directories, and how many files they hold, where the file system can: ext4 and XFS, mounted with project quotas,
 * with their tools installed and Podyard running as root. Elsewhere nothing is enforced; usage is only measured and reported.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Logger } from '../../core/logger.ts';

const COMMAND_TIMEOUT_MS = 10_000;
/** Project ids from here on are ours; people and the container engine use lower ones. */
const FIRST_PROJECT = 2 ** 30;
/** Files and directories for each GB: what ext4 has by default, so that nobody takes more than a share of them with empty files. */
const FILES_PER_GB = 65_536;

export interface QuotaFileSystem {
  type: 'ext4' | 'xfs';
  mountPoint: string;
}

export type RunCommand = (command: string, args: readonly string[]) => Promise<unknown>;

export class StorageQuotas {
  readonly #deps: { root: string; logger: Logger; run: RunCommand; readMounts: () => Promise<string> };
  /** Limits set by this process, in GB by path. */
  readonly #sizes = new Map<string, number>();
  #fileSystem: Promise<QuotaFileSystem | null> | undefined;

  /** `root` is above all directories that will be limited. */
  constructor(options: { root: string; logger: Logger; run?: RunCommand; readMounts?: () => Promise<string> }) {
    const readMounts = () => readFile('/proc/self/mountinfo', 'utf8');
    this.#deps = { run: runCommand, readMounts, ...options };
  }

  /** Limits the directory to `sizeGb` GiB. Does nothing where quotas are not supported; logs a failure. */
  async limit(path: string, sizeGb: number): Promise<void> {
    if (this.#sizes.get(path) === sizeGb) return;
    this.#fileSystem ??= this.#detect();
    const fileSystem = await this.#fileSystem;
    if (fileSystem === null) return;
    try {
      for (const [command, ...args] of quotaCommands(fileSystem, path, sizeGb)) await this.#deps.run(command!, args);
      this.#sizes.set(path, sizeGb);
    } catch (error) {
      this.#deps.logger.warn({ path, sizeGb, err: error }, 'directory size could not be limited');
    }
  }

  async #detect(): Promise<QuotaFileSystem | null> {
    if (process.getuid?.() !== 0) return null;
    return findQuotaFileSystem(await this.#deps.readMounts().catch(() => ''), this.#deps.root);
  }
}

/** Returns the file system of `path` from the text of /proc/self/mountinfo (proc(5)), if it has project quotas. */
export function findQuotaFileSystem(mountInfo: string, path: string): QuotaFileSystem | null {
  const mounts = mountInfo.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const mountPoint = before
      ?.split(' ')[4]
      ?.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8)));
    const [type, , options] = after?.split(' ') ?? [];
    if (mountPoint === undefined || type === undefined) return [];
    const holds = mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`);
    return holds ? [{ mountPoint, type, options: (options ?? '').split(',') }] : [];
  });
  const holder = mounts.reduce<(typeof mounts)[number] | undefined>(
    (best, one) => (best && best.mountPoint.length > one.mountPoint.length ? best : one), // of two at one place the later covers the earlier
    undefined,
  );
  if (!holder || (holder.type !== 'ext4' && holder.type !== 'xfs')) return null;
  const isCounting = holder.options.includes('prjquota') || holder.options.includes('pquota');
  return isCounting ? { type: holder.type, mountPoint: holder.mountPoint } : null;
}

/** The commands that give a directory its own project, inherited by everything created in it, and limit that project. */
export function quotaCommands(fileSystem: QuotaFileSystem, path: string, sizeGb: number): string[][] {
  const project = String(projectOf(path));
  const files = String(sizeGb * FILES_PER_GB);
  const { type, mountPoint } = fileSystem;
  if (type === 'ext4') {
    return [
      ['chattr', '+P', '-p', project, path],
      ['setquota', '-P', project, '0', String(sizeGb * 2 ** 20), '0', files, mountPoint],
    ];
  }
  return [
    ['xfs_quota', '-x', '-c', `project -s -p "${path}" ${project}`, mountPoint],
    ['xfs_quota', '-x', '-c', `limit -p bhard=${sizeGb}g ihard=${files} ${project}`, mountPoint],
  ];
}

/** Derived from the path: stable, and nothing to store. */
function projectOf(path: string): number {
  return FIRST_PROJECT + (createHash('sha256').update(path).digest().readUInt32BE() % FIRST_PROJECT);
}

function runCommand(command: string, args: readonly string[]): Promise<unknown> {
  return promisify(execFile)(command, [...args], { timeout: COMMAND_TIMEOUT_MS });
}
