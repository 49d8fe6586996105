import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupState, identify } from '../runtimes/process/process-group.ts';

/**
 * Throws a sentence if a live server runs on the data directory. Two would take each other's worker API port, and their
 * workers with it. Processes that share a database by its URL have directories of their own.
 */
export async function refuseSecondServer(dataDir: string): Promise<void> {
  const [pid, startedAt] = (await readFile(fileOf(dataDir), 'utf8').catch(() => '')).trim().split(/ (.*)/);
  if (!pid || !startedAt || Number(pid) === process.pid) return;
  if (groupState({ pid: Number(pid), startedAt }) === 'gone') return;
  throw new Error(`a server with pid ${pid} runs on this directory: ${dataDir}. Stop it, or choose another --data-dir`);
}

/** Records this process as the directory's server. Returns the function that removes the record. */
export async function recordServer(dataDir: string): Promise<() => Promise<void>> {
  const own = identify(process.pid);
  const text = own ? `${own.pid} ${own.startedAt}\n` : '';
  await writeFile(fileOf(dataDir), text, { mode: 0o600 });
  return () => rm(fileOf(dataDir), { force: true });
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'server.pid');
}
