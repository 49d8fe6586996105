import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** An npm package that is part of an artifact. */
export interface InstalledPackage {
  name: string;
  version: string;
  /** An SPDX expression, as its package.json has it. */
  license: string;
  /** Its folder. */
  folder: string;
}

/** Returns the packages in a node_modules that artifacts have, and those in the packages' own. Node.js is not one of them. */
export async function installedPackages(modules: string): Promise<InstalledPackage[]> {
  if (!existsSync(modules)) return [];
  const found: InstalledPackage[] = [];
  for (const item of await readdir(modules, { withFileTypes: true })) {
    const folder = `${modules}/${item.name}`;
    if (!item.isDirectory() || /^(\.|node-linux-)/.test(item.name)) continue;
    if (item.name.startsWith('@')) {
      found.push(...(await installedPackages(folder)));
      continue;
    }
    const about = JSON.parse(await readFile(`${folder}/package.json`, 'utf8')) as Record<string, string>;
    found.push({ name: about.name!, version: about.version!, license: String(about.license ?? 'NOASSERTION'), folder });
    found.push(...(await installedPackages(`${folder}/node_modules`)));
  }
  return found;
}
