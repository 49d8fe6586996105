import { readdir, readFile } from 'node:fs/promises';
import { ROOT } from '../release-facts.ts';
import { consolePackages } from './console-packages.ts';
import { installedPackages } from './installed-packages.ts';

const LICENSE_FILE = /^(licen[cs]e|notice|copying)/i;

/**
 * Returns the licenses of everything in the archive that others wrote, one after the other, with the names and versions.
 * `packages` is a folder from productionPackages.
 */
export async function thirdPartyLicenses(packages: string): Promise<string> {
  const all = [...(await installedPackages(`${packages}/node_modules`)), ...(await consolePackages())];
  const unique = [...new Map(all.map((one) => [`${one.name}@${one.version}`, one])).entries()];
  const sections = unique
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(async ([title, one]) => {
      return section(`${title} (${one.license})`, await readLicense(one.folder));
    });
  const postgres = await readFile(`${ROOT}/release/files/LICENSE.postgresql`, 'utf8');
  const introduction = `Podyard's own license is in LICENSE, that of Node.js in node/LICENSE. This file has those of the
packages in app/node_modules, of those compiled into app/dist/console, and of PostgreSQL.`;
  return [introduction, section('PostgreSQL', postgres), ...(await Promise.all(sections))].join('\n\n');
}

function section(title: string, text: string): string {
  return `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text.trim()}\n`;
}

async function readLicense(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => LICENSE_FILE.test(name)).sort();
  if (names.length === 0) return 'The package has no license text.';
  return (await Promise.all(names.map((name) => readFile(`${folder}/${name}`, 'utf8')))).join('\n\n');
}
