import { readFile } from 'node:fs/promises';

/**
 * Returns the memory of a container in bytes, without the file cache that the kernel reclaims as needed. Reads the kernel's figures,
 * because the engine makes a caller wait up to a second for its own. Returns null where the container's processes are not visible:
 * the engine is on another machine, or Podyard has a PID namespace of its own. `pid`: of the container's first process.
 */
export async function readCgroupMemory(containerId: string, pid: number, root = ''): Promise<number | null> {
  try {
    const folder = findMemoryFolder(await readFile(`${root}/proc/${pid}/cgroup`, 'utf8'), containerId);
    if (folder === null) return null;
    const [usage, stat] = await Promise.all([
      readFile(`${root}/sys/fs/cgroup/${folder.path}/${folder.usage}`, 'utf8'),
      readFile(`${root}/sys/fs/cgroup/${folder.path}/memory.stat`, 'utf8'),
    ]);
    const cache = new RegExp(`^${folder.cache} (\\d+)$`, 'm').exec(stat)?.[1] ?? '0';
    return Math.max(0, Number(usage) - Number(cache));
  } catch {
    return null;
  }
}

interface MemoryFolder {
  /** Below /sys/fs/cgroup. */
  path: string;
  /** Its file with the bytes used, and the name of the file cache in `memory.stat`: both differ between cgroup v1 and v2. */
  usage: string;
  cache: string;
}

/** The container's ID in the path tells that the process with this PID is the container's. */
function findMemoryFolder(cgroups: string, containerId: string): MemoryFolder | null {
  for (const line of cgroups.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):\/?(.+)$/.exec(line) ?? [];
    if (!path?.includes(containerId)) continue;
    if (controllers!.split(',').includes('memory')) {
      return { path: `memory/${path}`, usage: 'memory.usage_in_bytes', cache: 'total_inactive_file' };
    }
    if (controllers === '' && !/:memory:|:memory,|,memory/.test(cgroups)) {
      return { path, usage: 'memory.current', cache: 'inactive_file' };
    }
  }
  return null;
}
