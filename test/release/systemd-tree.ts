import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { debianTree } from './debian-tree.ts';

/** A copy of the minimal tree, where apt installs systemd as this machine's apt would. */
const MAKE = `set -e
  cp -a "$1" "$2"
  cp /etc/resolv.conf "$2/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$2/etc/apt/apt.conf.d/"
  chroot "$2" apt-get update -qq
  chroot "$2" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd systemd-sysv
  rm -rf "$2/var/lib/apt/lists" "$2/var/cache/apt"`;

/** Returns the folder of a minimal Debian 12 with systemd, made once. Tests must not change it. */
export async function systemdTree(): Promise<string> {
  const minimal = await debianTree('bookworm');
  const folder = `${minimal}-systemd`;
  if (existsSync(folder)) return folder;
  const part = `${folder}.part-${process.pid}`;
  try {
    await promisify(execFile)('sh', ['-c', MAKE, 'sh', minimal, part], { timeout: 300_000 });
    await rename(part, folder).catch((error) => {
      if (!existsSync(folder)) throw error; // else another test file was faster
    });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  return folder;
}
