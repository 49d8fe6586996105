import { readFile } from 'node:fs/promises';
import { findCgroupFolder } from './cgroup-folder.ts';

/** The file with the bytes used, and the name of the file cache in `memory.stat`, by version of control groups. */
const VERSION_1 = { usage: 'memory.usage_in_bytes', cache: 'total_inactive_file' };
const VERSION_2 = { usage: 'memory.current', cache: 'inactive_file' };

/**
 * Returns the memory of a container in bytes, without the file cache that the kernel reclaims as needed. Reads the kernel's figures,
 * because the engine makes a caller wait up to a second for its own. Returns null where the container's processes are not visible:
 * the engine is on another machine, or Podyard has a PID namespace of its own. `pid`: of the container's first process.
 */
export async function readCgroupMemory(containerId: string, pid: number, root = ''): Promise<number | null> {
  try {
    const folder = findCgroupFolder(await readFile(`${root}/proc/${pid}/cgroup`, 'utf8'), containerId, 'memory');
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
