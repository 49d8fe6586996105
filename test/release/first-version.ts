import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { keptFolder } from '../../release/kept-folder.ts';
import { ROOT } from '../../release/release-facts.ts';

const run = promisify(execFile);
/** The last commit of version 0.1.0, as in test/fixtures/upgrade/make.ts. */
const COMMIT = 'e4cd78e';

/** Returns a checkout of version 0.1.0 with its packages, made once; null where the history does not go back so far. */
export async function firstVersion(): Promise<string | null> {
  const isKnown = await run('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT }).then(
    () => true,
    () => false,
  );
  if (!isKnown) return null;
  return keptFolder('release-first-version', COMMIT, async (folder) => {
    await mkdir(folder, { recursive: true });
    await run('sh', ['-c', 'git archive "$1" | tar -x -C "$2"', 'sh', COMMIT, folder], { cwd: ROOT });
    await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, timeout: 300_000 });
  });
}
