import { execFile } from 'node:child_process';
import { readFile, readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newId } from '../core/ids.ts';

/** The server of a data directory. A process id in a file proves nothing, for the system gives ids out again. */
export type Postmaster = { state: 'none' } | { state: 'running'; pid: number; socketDir: string; isReady: boolean };

/** Looks for the server that runs in `pgData`, a path without symbolic links. */
export async function findPostmaster(pgData: string): Promise<Postmaster> {
  const pidFile = await readFile(join(pgData, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = pidFile.split('\n');
  const pid = Number(lines[0]);
  if (!(await isPostgresIn(pgData, pid))) return { state: 'none' };
  return { state: 'running', pid, socketDir: lines[4] ?? '', isReady: lines[7]?.trim() === 'ready' };
}

/** The server changes into its data directory when it starts, so its working directory tells whose it is. */
export async function isPostgresIn(pgData: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'linux') {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    return cwd === pgData && program.trim() === 'postgres';
  }
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  const command = await ps.then((result) => result.stdout).catch(() => '');
  return command.includes('postgres') && command.includes(pgData);
}

/**
 * Takes a lock file of the server away if the process it names lives but is not the server (somebody else's, or a corpse
 * that nobody buried): PostgreSQL would not start for fear of it. Should another Podyard have started a server between our
 * look and now, its file goes back. PostgreSQL guards the data a second time, by the shared memory of the directory.
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

/** True as well for a process of another user, and for one that has ended but was not waited for. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
