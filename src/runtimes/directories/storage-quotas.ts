/**
 * Holds directories to a size where the file system can: ext4 and XFS, mounted with project quotas, with their tools
 * installed and Podyard running as root. Elsewhere nothing is enforced, and what is used is merely measured and told.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

const COMMAND_TIMEOUT_MS = 10_000;
/** Below are the numbers that people and the container engine choose. */
const FIRST_PROJECT = 2 ** 30;

export interface QuotaFileSystem {
  type: 'ext4' | 'xfs';
  mountPoint: string;
}

export type RunCommand = (command: string, args: readonly string[]) => Promise<unknown>;

export class StorageQuotas {
  readonly #root: string;
  readonly #logger: Logger;
  readonly #run: RunCommand;
  /** What this process has set, in GB by path. */
  readonly #sizes = new Map<string, number>();
  #fileSystem: Promise<QuotaFileSystem | null> | undefined;

  /** `root` holds all directories that will be named. */
  constructor(options: { root: string; logger: Logger; run?: RunCommand; readMounts?: () => Promise<string> }) {
    this.#root = options.root;
    this.#logger = options.logger;
    this.#run = options.run ?? runCommand;
    this.#readMounts = options.readMounts ?? (() => readFile('/proc/self/mountinfo', 'utf8'));
  }
  readonly #readMounts: () => Promise<string>;

  /** Holds the directory to so many GiB, new or grown. Where that cannot be done it does nothing; a failure is logged. */
  async limit(path: string, sizeGb: number): Promise<void> {
    if (this.#sizes.get(path) === sizeGb) return;
    this.#fileSystem ??= this.#detect();
    const fileSystem = await this.#fileSystem;
    if (fileSystem === null) return;
    try {
      for (const [command, ...args] of quotaCommands(fileSystem, path, sizeGb)) await this.#run(command!, args);
      this.#sizes.set(path, sizeGb);
    } catch (error) {
      this.#logger.warn({ path, err: error }, `a directory cannot be held to its size: ${messageOf(error)}`);
    }
  }

  async #detect(): Promise<QuotaFileSystem | null> {
    if (process.getuid?.() !== 0) return null;
    return findQuotaFileSystem(await this.#readMounts().catch(() => ''), this.#root);
  }
}

/** The file system that holds `path`, by the text of /proc/self/mountinfo (proc(5)), if it counts by project. */
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
    (best, one) => (best && best.mountPoint.length > one.mountPoint.length ? best : one), // of two in one place the later covers
    undefined,
  );
  if (!holder || (holder.type !== 'ext4' && holder.type !== 'xfs')) return null;
  const isCounting = holder.options.includes('prjquota') || holder.options.includes('pquota');
  return isCounting ? { type: holder.type, mountPoint: holder.mountPoint } : null;
}

/** The commands that give a directory a project of its own, which what is made in it inherits, and that its limit. */
export function quotaCommands(fileSystem: QuotaFileSystem, path: string, sizeGb: number): string[][] {
  const project = String(projectOf(path));
  const { type, mountPoint } = fileSystem;
  if (type === 'ext4') {
    return [
      ['chattr', '+P', '-p', project, path],
      ['setquota', '-P', project, '0', String(sizeGb * 2 ** 20), '0', '0', mountPoint],
    ];
  }
  return [
    ['xfs_quota', '-x', '-c', `project -s -p "${path}" ${project}`, mountPoint],
    ['xfs_quota', '-x', '-c', `limit -p bhard=${sizeGb}g ${project}`, mountPoint],
  ];
}

/** Made of the path, so that it is the same for ever and need not be kept. */
function projectOf(path: string): number {
  return FIRST_PROJECT + (createHash('sha256').update(path).digest().readUInt32BE() % FIRST_PROJECT);
}

function runCommand(command: string, args: readonly string[]): Promise<unknown> {
  return promisify(execFile)(command, [...args], { timeout: COMMAND_TIMEOUT_MS });
}
