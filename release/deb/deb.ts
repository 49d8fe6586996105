import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEBIAN_ARCHITECTURE } from '../image/debian-packages.ts';
import type { Architecture } from '../parts/production-packages.ts';
import { maintainerOf } from '../published-names.ts';
import { type ReleaseFacts, ROOT } from '../release-facts.ts';
import { below, type Entry, fileEntry, readContent, textEntry } from '../tree/entry.ts';
import { writeAr } from '../tree/write-ar.ts';
import { writeTar } from '../tree/write-tar.ts';

const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'];

/**
 * Writes the Debian package of a tree and returns its name. It installs the same folders as install.sh, but for the unit and
 * the command, which lie where packages put them. `work` is a folder for what the package is put together from.
 */
export async function writeDeb(
  out: string,
  work: string,
  facts: ReleaseFacts,
  tree: Entry[],
  architecture: Architecture,
): Promise<string> {
  const name = `podyard_${facts.version}_${DEBIAN_ARCHITECTURE[architecture]}.deb`;
  const isOfInstaller = (entry: Entry) => ['install.sh', 'podyard.service', 'SHA256SUMS'].includes(entry.path);
  const installed = tree.filter((entry) => !isOfInstaller(entry));
  const data: Entry[] = [
    ...below(`opt/podyard/${facts.version}`, installed),
    { kind: 'link', path: 'opt/podyard/current', target: facts.version },
    { kind: 'link', path: 'usr/bin/podyard', target: '/opt/podyard/current/bin/podyard' },
    fileEntry('usr/lib/systemd/system/podyard.service', `${ROOT}/release/podyard.service`),
    fileEntry('usr/share/doc/podyard/copyright', `${ROOT}/LICENSE`),
  ];
  const control = await controlEntries(facts, data, architecture);
  const at = (file: string) => join(work, `${architecture}-${file}`);
  await writeFile(at('debian-binary'), '2.0\n');
  await writeTar(at('control.tar.gz'), below('.', control), facts.time);
  await writeTar(at('data.tar.gz'), below('.', data), facts.time);
  const members = ['debian-binary', 'control.tar.gz', 'data.tar.gz'].map((file) => ({ name: file, from: at(file) }));
  await writeAr(`${out}/${name}`, members, facts.time);
  return name;
}

async function controlEntries(facts: ReleaseFacts, data: Entry[], architecture: Architecture): Promise<Entry[]> {
  const sums: string[] = [];
  let bytes = 0;
  for (const entry of data) {
    if (entry.kind !== 'file') continue;
    const content = await readContent(entry);
    bytes += content.length;
    sums.push(`${createHash('md5').update(content).digest('hex')}  ${entry.path}\n`);
  }
  const template = await readFile(`${ROOT}/release/deb/control`, 'utf8');
  const control = template
    .replace('@VERSION@', facts.version)
    .replace('@MAINTAINER@', () => maintainerOf(facts))
    .replace('@ARCHITECTURE@', DEBIAN_ARCHITECTURE[architecture])
    .replace('@KIBIBYTES@', String(Math.ceil(bytes / 1024)));
  return [
    textEntry('control', control),
    textEntry('md5sums', sums.sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1)).join('')),
    ...SCRIPTS.map((script) => fileEntry(script, `${ROOT}/release/deb/${script}`, true)),
  ];
}
