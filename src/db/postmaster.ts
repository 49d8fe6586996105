import { execFile } from 'node:child_process';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newId } from '../core/ids.ts';

/** The server of a data directory. A process id in a file proves nothing, because the system reuses ids. */
export type Postmaster = { state: 'none' } | { state: 'running'; pid: number; socketDir: string; isReady: boolean };

/** Finds the server that runs in `pgData`, a real path. */
export async function findPostmaster(pgData: string): Promise<Postmaster> {
  const pidFile = await readFile(join(pgData, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = pidFile.split('\n');
  const pid = Number(lines[0]);
  if (!(await isPostgresIn(pgData, pid))) return { state: 'none' };
  return { state: 'running', pid, socketDir: lines[4] ?? '', isReady: lines[7]?.trim() === 'ready' };
}

/**
 * True if the process is the server of `pgData`: a server's working directory is its data directory. They are compared as files,
 * because a path looks different from another mount namespace, as each start of a confined systemd unit has one.
 */
export async function isPostgresIn(pgData: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'linux') {
    const [cwd, own] = await Promise.all([`/proc/${pid}/cwd`, pgData].map((path) => stat(path).catch(() => null)));
    const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return cwd != null && own != null && cwd.dev === own.dev && cwd.ino === own.ino && program.trim() === 'postgres';
  }
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  const command = await ps.then((result) => result.stdout).catch(() => '');
  return command.includes('postgres') && command.includes(pgData);
}

/**
 * Removes a lock file of the server if the process it names is alive but is not the server (a foreign one, or a zombie):
 * PostgreSQL would refuse to start. If another Podyard started a server since the check, its file is put back. PostgreSQL
 * guards the data a second time, by the directory's shared memory.
 */
export async function removeForeignLock(pgData: string, lockFile: string): Promise<void> {
  const content = await readFile(lockFile, 'utf8').catch(() => '');
  const pid = Number(content.split('\n')[0]);
  if (!isAlive(pid) || (await isPostgresIn(pgData, pid))) return;
  const aside = `${lockFile}.stale-${newId(8)}`;
  await rename(lockFile, aside).catch(() => {});
  const moved = await readFile(aside, 'utf8').catch(() => content);
  if (moved === content) await rm(aside, { force: true });
  else await rename(aside, lockFile);
}

/** True also for a process of another user, and for a zombie. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
