import { readFile } from 'node:fs/promises';

/**
 * Returns the id of the container that this process runs in, as its engine knows it; null outside of one. Engines mount files
 * of the container's own folder into it, such as `/etc/hostname`, whatever its network and control groups are.
 */
export async function findOwnContainer(mountInfo = '/proc/self/mountinfo'): Promise<string | null> {
  const text = await readFile(mountInfo, 'utf8').catch(() => '');
  return (
    /\/(?:containers|overlay-containers)\/([0-9a-f]{64})\/(?:\S*\/)?(?:hostname|resolv\.conf|hosts) /.exec(text)?.[1] ??
    null
  );
}
