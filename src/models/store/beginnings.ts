import { constants, readFileSync, readlinkSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  truncate,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { discard, tagPath } from '../fetch/partial-file.ts';
import { blobName } from './model-paths.ts';

/** The beginning of a file. */
export interface Beginning {
  /** Its content's, as `blobName` has it. */
  name: string;
  path: string;
  bytes: number;
  /** Bytes that its fetch still brings; 0: no running fetch has said so. */
  comingBytes: number;
  usedAtMs: number;
  isOwn: boolean;
  /** Another process of this machine, which runs, fetches it. */
  isOthers: boolean;
}

/** The process that made a folder: `sibling` is an earlier one in this place; `unknown` was on another machine, or in another container. */
type Owner = 'own' | 'sibling' | 'running' | 'ended' | 'unknown';

/** Processes of one machine see each other by their numbers if they are in the same namespace of them. */
const MACHINE = `${hostname()}-${namespaceOfPids()}-`;
const COMING = '.coming';
let created = 0;

/**
 * Beginnings of files that are being fetched, `partial/<owner>/<digest>`. Each fetcher writes to its own, and makes its own whole: one that
 * was frozen while another took its place cannot change what that one has stored. The others take over the beginnings of one that has
 * ended; they copy them unless it can no longer write to them.
 */
export class Beginnings {
  readonly #root: string;
  readonly #owner: string;

  /** `owner`: one of several fetchers that cannot see each other. Absent: this process. */
  constructor(root: string, owner?: string) {
    created += 1;
    this.#root = join(root, 'partial');
    this.#owner = owner ?? `${MACHINE}${process.pid}-${startOf(process.pid)}-${created}`;
  }

  async open(): Promise<void> {
    const own = join(this.#root, this.#owner);
    await mkdir(own, { recursive: true, mode: 0o700 });
    for (const owner of await this.#owners()) {
      const state = this.#stateOf(owner);
      if (state !== 'own' && state !== 'ended') continue;
      const folder = join(this.#root, owner);
      for (const name of await namesIn(folder))
        if (name.endsWith(COMING)) await rm(join(folder, name), { force: true });
      if (state === 'ended') await this.#forget(owner);
    }
    for (const name of await readdir(own)) await chmod(join(own, name), 0o600); // a kill may have left one half sealed
  }

  /** Where this fetcher writes a file. */
  pathOf(file: Pick<PinnedFile, 'digest'>): string {
    return join(this.#root, this.#owner, blobName(file));
  }

  /** Has the next fetch of a file go on where one that has ended left it. */
  async takeOver(file: Pick<PinnedFile, 'digest'>): Promise<void> {
    const own = this.pathOf(file);
    let isBegun = await isThere(own);
    for (const owner of await this.#owners()) {
      const state = this.#stateOf(owner);
      const left = join(this.#root, owner, blobName(file));
      if (state === 'own' || state === 'running' || !(await isThere(left))) continue;
      if (!isBegun) {
        const take = state === 'ended' ? rename : copy;
        await take(tagPath(left), tagPath(own)).catch(() => {});
        isBegun = await take(left, own).then(
          () => true,
          () => discard(own).then(() => false), // the disk may be full
        );
        if (isBegun) await chmod(own, 0o600);
      }
      if (isBegun) await discard(left);
      await rmdir(dirname(left)).catch(() => {}); // unless there is more
    }
  }

  /** Has all processes count a file as coming, with all of its bytes, until `noteEnd`. */
  async noteComing(file: PinnedFile): Promise<void> {
    await symlink(String(file.size), this.pathOf(file) + COMING).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }

  async noteEnd(file: PinnedFile): Promise<void> {
    await rm(this.pathOf(file) + COMING, { force: true });
  }

  async list(): Promise<Beginning[]> {
    const all: Beginning[] = [];
    for (const owner of await this.#owners()) {
      const folder = join(this.#root, owner);
      const state = this.#stateOf(owner);
      const marks = { isOwn: state === 'own', isOthers: state === 'running' };
      const names = await namesIn(folder);
      for (const name of new Set(names.map((one) => one.replace(/\.(?:tag|coming)$/, '')))) {
        const path = join(folder, name);
        const found = await lstat(path).catch(() => null); // it may be to come, have just become whole, or have left
        if (found && !found.isFile()) continue;
        const bytes = found?.size ?? 0;
        const isAlive = state === 'own' || state === 'sibling' || state === 'running';
        const size = isAlive ? Number(await readlink(path + COMING).catch(() => 0)) : 0;
        const usedAtMs = found?.atimeMs ?? Number.POSITIVE_INFINITY;
        all.push({ name, path, bytes, comingBytes: Math.max(0, size - bytes), usedAtMs, ...marks });
      }
    }
    return all;
  }

  async remove({ path }: Pick<Beginning, 'path'>): Promise<void> {
    await truncate(path, 0).catch(() => {}); // its fetch may have it open
    await discard(path);
    await rm(path + COMING, { force: true });
    if (dirname(path) !== this.#root) await this.#forget(basename(dirname(path)));
  }

  /** Removes the folder of a fetcher that has nothing left. */
  async #forget(owner: string): Promise<void> {
    if (this.#stateOf(owner) !== 'own') await rmdir(join(this.#root, owner)).catch(() => {});
  }

  /** '': files of earlier versions, which had one owner. */
  async #owners(): Promise<string[]> {
    const entries = await readdir(this.#root, { withFileTypes: true }).catch(() => []); // it may not have been opened yet
    return ['', ...entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)];
  }

  #stateOf(owner: string): Owner {
    if (owner === this.#owner) return 'own';
    const [, pid, start] = owner.startsWith(MACHINE)
      ? (/^(\d+)-(\d+)-\d+$/.exec(owner.slice(MACHINE.length)) ?? [])
      : [];
    if (pid === undefined) return 'unknown';
    const found = startOf(Number(pid));
    if (found === null || (found !== start && found !== '0')) return 'ended';
    return Number(pid) === process.pid ? 'sibling' : 'running';
  }
}

/** Returns how many bytes the fetches into a folder with beginnings still bring, of all processes of this machine. */
export async function comingBytesIn(root: string): Promise<number> {
  const all = await new Beginnings(root).list();
  return all.reduce((sum, { comingBytes }) => sum + comingBytes, 0);
}

/** Returns when a process started, in ticks since the boot; null: it has ended. 0: it cannot be known, as where there is no /proc. */
function startOf(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return null;
  }
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]!; // proc(5): state is field 3, starttime 22
  } catch {
    return '0';
  }
}

function namespaceOfPids(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    return '0';
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function copy(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE); // at once where the file system can share blocks
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []); // it may have just left
}
