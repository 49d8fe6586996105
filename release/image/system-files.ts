import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { Architecture } from '../parts/production-packages.ts';
import { type Entry, folderEntries, textEntry } from '../tree/entry.ts';
import { pinnedPackages, unpackedPackage } from './debian-packages.ts';

/** The user of the image. Whatever it may write is a volume. */
const USER = 1000;

/** What Node.js and its libraries need: readelf names the first ones, and glibc loads the last two for names of hosts. */
const LIBRARIES =
  /^usr\/lib(64|\/[^/]+-linux-gnu)?\/(ld-linux-.*|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|resolv|nss_dns|nss_files)\.so\.[\d.]+)$/;
/** The packages of GCC link to the folder of gcc-14-base. */
const LICENSE = /^usr\/share\/doc\/[^/]+(\/copyright)?$/;

/** Returns the system below the program: the C and C++ libraries, certificates, names and folders. No shell, no package manager. */
export async function systemFiles(architecture: Architecture): Promise<Entry[]> {
  const packages = await pinnedPackages(architecture);
  const entries: Entry[] = [];
  for (const one of packages) {
    const folder = await unpackedPackage(one);
    entries.push(...(await folderEntries(folder, (path) => LIBRARIES.test(path) || LICENSE.test(path))));
    const certificates = `${folder}/usr/share/ca-certificates/mozilla`;
    if (existsSync(certificates)) {
      entries.push(textEntry('etc/ssl/certs/ca-certificates.crt', await joinFiles(certificates)));
    }
  }
  return [
    ...entries.map((entry) => (entry.kind === 'file' ? { ...entry, isExecutable: /\.so/.test(entry.path) } : entry)),
    { kind: 'link', path: 'lib', target: 'usr/lib' },
    ...(architecture === 'x64' ? [{ kind: 'link', path: 'lib64', target: 'usr/lib64' } as const] : []),
    textEntry(
      'etc/passwd',
      `root:x:0:0:root:/:/sbin/nologin\npodyard:x:${USER}:${USER}::/var/lib/podyard:/sbin/nologin\n`,
    ),
    textEntry('etc/group', `root:x:0:\npodyard:x:${USER}:\n`),
    textEntry('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'),
    { kind: 'folder', path: 'tmp', mode: 0o1777, owner: 0 },
    { kind: 'folder', path: 'var/lib/podyard', mode: 0o700, owner: USER },
  ];
}

async function joinFiles(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, 'utf8')));
  return texts.join('');
}
