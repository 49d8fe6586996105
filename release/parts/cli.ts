import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { buildProgram } from '../../scripts/build-program.ts';
import { type ReleaseFacts, ROOT } from '../release-facts.ts';
import { below, fileEntry, folderEntries, textEntry } from '../tree/entry.ts';
import { writeTar } from '../tree/write-tar.ts';
import { publishedPackage, runsAtRunTime } from './app.ts';

/**
 * What run.ts loads when a command needs a server or its data. In place of each is a sentence, so that none of what these import
 * is in the archive.
 */
const OF_THE_SERVER =
  /\/src\/(server|compose\/(?!process\/(end-on-signal|process-messages)\.).*|runtimes\/.*|dataplane\/.*|cli\/server\/demo|cli\/doctor\/doctor)\.ts$/;
const INSTEAD = `throw new Error('this is the command line alone, which has no server: install Podyard for this command');\n`;

/**
 * Writes the command line alone, for any system with Node.js 24, and returns the archive's name. It has what
 * `main.js` reaches without a server, their packages, and the worker kits.
 */
export async function writeCli(
  out: string,
  work: string,
  facts: ReleaseFacts,
  sources: string,
  packages: string,
): Promise<string> {
  const name = `podyard-cli-${facts.version}`;
  const packageNames = await bundleCommands(sources, `${work}/cli`);
  const modules = await Promise.all(
    [...(await withDependencies(packages, packageNames))].map(async (path) =>
      below(
        `node_modules/${path}`,
        await folderEntries(`${packages}/node_modules/${path}`, (file) => runsAtRunTime(file)),
      ),
    ),
  );
  const kits = facts.files.filter((file) => file.startsWith('workers/') && runsAtRunTime(file));
  await writeTar(
    `${out}/${name}.tar.gz`,
    below(name, [
      fileEntry('bin/podyard', `${ROOT}/bin/podyard`, true),
      textEntry('package.json', await publishedPackage()),
      fileEntry('LICENSE', `${ROOT}/LICENSE`),
      ...below('dist', await folderEntries(`${work}/cli`)),
      ...modules.flat(),
      fileEntry('api/podyard-yaml.json', `${ROOT}/api/podyard-yaml.json`),
      ...kits.map((file) => fileEntry(file, `${ROOT}/${file}`)),
    ]),
    facts.time,
  );
  return `${name}.tar.gz`;
}

/** Bundles the program without the server into a folder, and returns the packages that it imports. */
async function bundleCommands(sources: string, folder: string): Promise<Set<string>> {
  const withoutServer = { name: 'without-server', load: (id: string) => (OF_THE_SERVER.test(id) ? INSTEAD : null) };
  const { output } = await buildProgram(sources, folder, { programs: ['main'], plugins: [withoutServer] });
  const files = new Set(output.map(({ fileName }) => fileName));
  const imported = output.flatMap((file) => (file.type === 'chunk' ? [...file.imports, ...file.dynamicImports] : []));
  const packages = imported.filter((name) => !files.has(name) && !name.startsWith('node:'));
  return new Set(packages.map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)![0]));
}

/**
 * Returns the folders below node_modules of packages and of what they depend on, found in their own folder or beside them. Throws
 * if a package is not there.
 */
async function withDependencies(packages: string, names: Iterable<string>): Promise<Set<string>> {
  const modules = `${packages}/node_modules`;
  const found = new Set<string>();
  const visit = async (name: string, of: string | null, isOptional = false): Promise<void> => {
    const own = `${of}/node_modules/${name}`;
    const path = of !== null && existsSync(`${modules}/${own}`) ? own : name;
    if (found.has(path) || (isOptional && !existsSync(`${modules}/${path}`))) return;
    found.add(path);
    const about = JSON.parse(await readFile(`${modules}/${path}/package.json`, 'utf8')) as Dependencies;
    for (const one of Object.keys(about.dependencies ?? {})) await visit(one, path);
    for (const one of Object.keys(about.optionalDependencies ?? {})) await visit(one, path, true);
  };
  for (const name of names) await visit(name, null);
  // What lies in a package's own folder comes with it.
  return new Set([...found].filter((path) => !path.includes('/node_modules/')));
}

interface Dependencies {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}
