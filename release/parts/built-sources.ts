import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hashOfFiles, keptFolder } from '../kept-folder.ts';
import { namesPlaces, PUBLISHED_KEY, withPublishedNames } from '../published-names.ts';
import { ROOT } from '../release-facts.ts';
import { runProgram } from '../run-program.ts';

/** Files whose content `dist/` does not depend on. The documentation may link to them. */
const NOT_BUILT_FROM = /^(test|bench|release|deploy|\.ci|\.github)\/|\.test\.tsx?$/;

/** Vite follows NODE_ENV; the rest would show in dates and in the order of words. */
const ENVIRONMENT = { ...process.env, NODE_ENV: 'production', TZ: 'UTC', LC_ALL: 'C.UTF-8' };

/**
 * Returns a folder whose `dist` has the program, the console and the documentation. They are built in a copy of the checkout's
 * files, so that nothing else gets into them and no server of the checkout loses its own. With `isFresh` they are built anew.
 */
export async function builtSources(files: string[], isFresh: boolean): Promise<string> {
  const hash = await hashOfFiles(files.filter((file) => !NOT_BUILT_FROM.test(file)));
  const key = hash + PUBLISHED_KEY + (isFresh ? `-${process.pid}` : '');
  return keptFolder('release-sources', key, async (folder) => {
    for (const file of files) {
      await mkdir(dirname(`${folder}/${file}`), { recursive: true });
      if (namesPlaces(file))
        await writeFile(`${folder}/${file}`, withPublishedNames(await readFile(`${ROOT}/${file}`, 'utf8')));
      else await copyFile(`${ROOT}/${file}`, `${folder}/${file}`);
    }
    for (const modules of ['node_modules', 'console/node_modules']) {
      await symlink(`${ROOT}/${modules}`, `${folder}/${modules}`);
    }
    const build = (command: string, ...args: string[]) => runProgram(command, args, { cwd: folder, env: ENVIRONMENT });
    await build(process.execPath, 'scripts/build-program.ts');
    await build(process.execPath, 'console/build.ts');
    await build(process.execPath, 'scripts/build-docs.ts');
  });
}
