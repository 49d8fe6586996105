import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { ROOT } from '../release-facts.ts';
import { consolePackages, type InstalledPackage } from './console-packages.ts';

const LICENSE_FILE = /^(licen[cs]e|notice|copying)/i;

/**
 * Returns the licenses of everything in the archive that others wrote, one after the other, with the names and versions.
 * `packages` is a folder from productionPackages.
 */
export async function thirdPartyLicenses(packages: string): Promise<string> {
  const all = [...(await packagesIn(`${packages}/node_modules`)), ...(await consolePackages())];
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

/** Returns the packages below a node_modules, with those in packages' own. Node.js has a file of its own. */
async function packagesIn(modules: string): Promise<InstalledPackage[]> {
  if (!existsSync(modules)) return [];
  const found: InstalledPackage[] = [];
  for (const item of await readdir(modules, { withFileTypes: true })) {
    const folder = `${modules}/${item.name}`;
    if (!item.isDirectory() || /^(\.|node-linux-)/.test(item.name)) continue;
    if (item.name.startsWith('@')) {
      found.push(...(await packagesIn(folder)));
      continue;
    }
    const about = JSON.parse(await readFile(`${folder}/package.json`, 'utf8')) as Record<string, string>;
    found.push({ name: about.name!, version: about.version!, license: String(about.license), folder });
    found.push(...(await packagesIn(`${folder}/node_modules`)));
  }
  return found;
}
