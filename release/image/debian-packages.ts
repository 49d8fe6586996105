import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { keptFolder } from '../kept-folder.ts';
import type { Architecture } from '../parts/production-packages.ts';
import { ROOT } from '../release-facts.ts';
import { runProgram } from '../run-program.ts';

/** A Debian package that release/debian-packages.txt pins. */
export interface DebianPackage {
  name: string;
  /** `amd64`, `arm64` or `all`. */
  architecture: string;
  version: string;
  sha256: string;
  address: string;
}

const FILE = 'release/debian-packages.txt';

/** Debian's word for a processor. */
export const DEBIAN_ARCHITECTURE: Record<Architecture, string> = { x64: 'amd64', arm64: 'arm64' };

/** Returns the packages of an image for one processor, in the order of their names. */
export async function pinnedPackages(architecture: Architecture): Promise<DebianPackage[]> {
  const lines = (await readFile(`${ROOT}/${FILE}`, 'utf8')).split('\n').filter((line) => /^[^#]/.test(line));
  const pinned = lines.map((line) => {
    const [name, word, version, sha256, address] = line.split(' ') as [string, string, string, string, string];
    return { name, architecture: word, version, sha256, address };
  });
  const wanted = ['all', DEBIAN_ARCHITECTURE[architecture]];
  return pinned.filter((one) => wanted.includes(one.architecture)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Returns a folder with the files of a package. It is fetched once. Throws if Debian has it no longer, or other bytes than
 * those whose hash is pinned.
 */
export async function unpackedPackage(wanted: DebianPackage): Promise<string> {
  const { name, architecture, sha256 } = wanted;
  return keptFolder(`release-debian-${name}-${architecture}`, sha256.slice(0, 16), async (folder) => {
    const archive = `${folder}/package.deb`;
    await writeFile(archive, await fetchChecked(wanted));
    await runProgram('dpkg-deb', ['--extract', archive, `${folder}/files`]);
  }).then((folder) => `${folder}/files`);
}

async function fetchChecked({ name, version, sha256, address }: DebianPackage): Promise<Buffer> {
  const response = await fetch(address);
  if (!response.ok) {
    throw new Error(
      `${address}: ${response.status}. If Debian has replaced ${name} ${version}, run: sh release/refresh-debian.sh`,
    );
  }
  const content = Buffer.from(await response.arrayBuffer());
  const found = createHash('sha256').update(content).digest('hex');
  if (found !== sha256) throw new Error(`${address} has the SHA-256 ${found}, but ${FILE} says ${sha256}`);
  return content;
}
