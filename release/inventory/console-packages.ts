import { readFile } from 'node:fs/promises';
import { ROOT } from '../release-facts.ts';
import type { InstalledPackage } from './installed-packages.ts';

/** The console's packages that build or check it, and of which nothing is in it. */
const TOOLS = /^(vite|typescript|openapi-typescript|@vitejs\/.*|@types\/.*)$/;

interface Lock {
  packages: Record<string, { version?: string; license?: string } & Dependencies>;
}

interface Dependencies {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Returns the packages that the built console may have code of: those that its sources depend on, and what these depend on. */
export async function consolePackages(): Promise<InstalledPackage[]> {
  const { packages } = JSON.parse(await readFile(`${ROOT}/package-lock.json`, 'utf8')) as Lock;
  const found = new Map<string, InstalledPackage>();
  const visit = (path: string, names: string[]) => {
    for (const name of names) {
      const at = findPackage(packages, path, name);
      if (at === undefined || found.has(at)) continue;
      const { version = '', license = 'NOASSERTION', dependencies = {} } = packages[at]!;
      found.set(at, { name, version, license, folder: `${ROOT}/${at}` });
      visit(at, Object.keys(dependencies));
    }
  };
  const direct = Object.keys(packages.console!.devDependencies ?? {});
  visit(
    'console',
    direct.filter((name) => !TOOLS.test(name)),
  );
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns where Node.js finds a package from another one's folder. Peer dependencies that are not installed have none. */
function findPackage(packages: Lock['packages'], from: string, name: string): string | undefined {
  const parts = from.split('/node_modules/');
  const folders = parts.map((_, index) => `${parts.slice(0, parts.length - index).join('/node_modules/')}/`);
  const candidates = [...folders, ''].map((folder) => `${folder}node_modules/${name}`);
  return candidates.find((path) => packages[path] !== undefined);
}
