/** A container's control group. `path` is below /sys/fs/cgroup; version 2 has other file names than version 1. */
export interface CgroupFolder {
  path: string;
  isVersion2: boolean;
}

/**
 * Finds the control group of a controller in the text of `/proc/<pid>/cgroup`. The container's ID in the path tells that the
 * process with this PID is the container's. Null when it is not, or has no such controller.
 */
export function findCgroupFolder(
  cgroups: string,
  containerId: string,
  controller: 'memory' | 'freezer',
): CgroupFolder | null {
  const lines = cgroups.split('\n').map((line) => /^\d+:([^:]*):\/?(.+)$/.exec(line) ?? ['', '', '']);
  const groups = lines.map(([, controllers, path]) => ({ controllers: controllers!.split(','), path: path! }));
  const isVersion2 = !groups.some(({ controllers }) => controllers.includes(controller));
  const wanted = isVersion2 ? '' : controller;
  const found = groups.find(({ controllers, path }) => controllers.includes(wanted) && path.includes(containerId));
  return found ? { path: isVersion2 ? found.path : `${controller}/${found.path}`, isVersion2 } : null;
}
