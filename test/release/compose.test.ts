import { execFile } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readReleaseFacts } from '../../release/release-facts.ts';
import { newId } from '../../src/core/ids.ts';
import { composeCommand } from '../containers/compose-command.ts';
import { containersOf, describeWithEngine, needExampleImages } from '../containers/container-engine.ts';
import { importFolder, makePostgresFolder } from '../containers/package-images.ts';
import { Api, until } from '../e2e/api.ts';
import { readBlocks } from '../e2e/docs-commands.ts';
import { builtArtifacts } from './built.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FILE = join(ROOT, 'deploy/compose.yaml');
/** compose.yaml of version 0.1.0. */
const FIRST_FILE = fileURLToPath(new URL('compose-0.1.0.yaml', import.meta.url));
const SET_UP_MS = 400_000;
const LIMIT_MS = 180_000;

/** An installation: the folder of its compose.yaml, and what is set in the operator's shell. */
interface Place {
  folder: string;
  dataDir: string;
  env: Record<string, string>;
}

describeWithEngine('deploy/compose.yaml', () => {
  const docker = new Docker();
  /** The value of PODYARD_REGISTRY; both images are from there. */
  const registry = `localhost/podyard-test-${newId(6).toLowerCase()}`;
  let work: string;
  let images: [server: string, postgres: string] | undefined;
  let started: Place[] = [];

  beforeAll(async () => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'podyard-compose-')));
    chmodSync(work, 0o755);
    const { version } = readReleaseFacts();
    const folder = await builtArtifacts();
    images = [`${registry}/podyard:${version}`, `${registry}/postgres:18`];
    await needExampleImages();
    const load = (await commandsOf('offline')).replace('x64', process.arch);
    // image.test.ts loads it, too; whoever is first removes the name that both get.
    await until('the image has a name of its own', async () => {
      await run('sh', ['-e', '-c', load], { cwd: folder });
      await run('docker', ['tag', `podyard:${version}`, images![0]]);
      return true;
    });
    await run('docker', ['rmi', `podyard:${version}`]).catch(() => {});
    await makePostgresFolder(join(work, 'postgres'));
    importFolder(join(work, 'postgres'), images[1], ['USER 999:999', 'ENTRYPOINT ["/usr/local/bin/start-postgres"]']);
  }, SET_UP_MS);
  afterEach(async () => {
    for (const place of started) {
      copyFileSync(FILE, join(place.folder, 'compose.yaml')); // whichever a failed test has left
      await compose(place, 'down', '--volumes', '--timeout', '20');
    }
    started = [];
  }, LIMIT_MS);
  afterAll(async () => {
    for (const image of images ?? []) await run('docker', ['rmi', '--force', image]).catch(() => {});
    rmSync(work, { recursive: true, force: true });
  });

  /** An empty folder. The settings keep tests apart. */
  function makePlace(): Place {
    const folder = mkdtempSync(join(work, 'place-'));
    const dataDir = join(folder, 'data');
    const { PATH = '', HOME = '' } = process.env;
    const project = `podyard-test-${newId(6).toLowerCase()}`;
    const settings = { PODYARD_REGISTRY: registry, PODYARD_DATA_DIR: dataDir, PODYARD_PORT: '0' };
    const place = { folder, dataDir, env: { PATH, HOME, COMPOSE_PROJECT_NAME: project, ...settings } };
    started.push(place);
    return place;
  }

  async function compose({ folder, env }: Place, ...args: string[]): Promise<string> {
    const [program, ...first] = composeCommand();
    const options = { cwd: folder, env, maxBuffer: 2 ** 26, timeout: LIMIT_MS };
    return (await run(program!, [...first, ...args], options)).stdout;
  }

  /** Returns the commands of the page "Install" that are run in a certain place. */
  async function commandsOf(place: string): Promise<string> {
    const blocks = readBlocks(await readFile(join(ROOT, 'docs/guide/install.md'), 'utf8'));
    const [commands, ...others] = blocks.filter(({ info }) => info === `sh run=${place}`);
    expect(others).toEqual([]);
    return commands!.text;
  }

  /** Runs the page's commands for containers, with this checkout's file and whichever program is Compose here. */
  async function runCommandsOfPage({ folder, env }: Place): Promise<void> {
    const script = (await commandsOf('containers'))
      .replaceAll(/<this repository>\/releases\/download\/v[\d.]+/g, `file://${ROOT}/deploy`)
      .replaceAll('docker compose', composeCommand().join(' '));
    await run('sh', ['-e', '-c', script], { cwd: folder, env, timeout: LIMIT_MS });
  }

  /** The server's container. Asking the engine takes a fraction of the time in which Compose, written in Python, starts. */
  async function containerOf({ env }: Place): Promise<string> {
    const labels = [`project=${env.COMPOSE_PROJECT_NAME}`, 'service=server'];
    const filters = labels.flatMap((label) => ['--filter', `label=com.docker.compose.${label}`]);
    return (await run('docker', ['ps', '--all', '--quiet', '--no-trunc', ...filters])).stdout.trim();
  }

  async function logOf(place: Place): Promise<string> {
    const { stdout, stderr } = await run('docker', ['logs', await containerOf(place)], { maxBuffer: 2 ** 26 });
    return stdout + stderr;
  }

  /** Resolves with the URL of the server's last start, once there have been so many. */
  function readyUrl(place: Place, starts = 1): Promise<string> {
    const isReady = async () => [...(await logOf(place)).matchAll(/ready at (\S+)/g)][starts - 1]?.[1];
    return until('it is ready', isReady, 90_000).catch(async (cause) => {
      throw new Error(`it is not ready: ${await logOf(place)}`, { cause });
    });
  }

  /** Returns the kernel's status of the server's process. */
  async function statusOf(place: Place): Promise<string> {
    const { HostConfig, State } = await docker.getContainer(await containerOf(place)).inspect();
    expect([HostConfig.ReadonlyRootfs, HostConfig.Privileged]).toEqual([true, false]);
    return readFile(`/proc/${State.Pid}/status`, 'utf8');
  }

  async function runJob(api: Api): Promise<void> {
    const endpointId = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const job = await api.runToEnd(endpointId, { echo: 'composed' });
    expect(job).toMatchObject({ status: 'COMPLETED', output: 'composed' });
    const workers = await docker.listContainers({ all: true, filters: { label: [`podyard.id=${job.workerId}`] } });
    expect(workers).toHaveLength(1);
    await api.delete(endpointId);
    const installation = workers[0]!.Labels['podyard.installation']!;
    await until('its worker is gone', async () => (await containersOf(installation)).size === 0, 60_000);
  }

  test(
    'the page’s commands in an empty folder start a server that runs a job, is not root, and restarts with its data',
    async () => {
      const place = makePlace();
      await runCommandsOfPage(place);
      place.folder = join(place.folder, 'podyard');
      const url = await readyUrl(place);
      const key = /pyk_[\w-]+/.exec(await logOf(place))![0];
      await runJob(new Api({ url, key }));

      const status = await statusOf(place);
      expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
      const groups = /^Groups:\t(.*)$/m.exec(status)![1]!.trim().split(' ');
      expect(groups.filter((group) => group !== '1000')).toEqual([String(statSync('/var/run/docker.sock').gid)]);
      expect(status).toMatch(/^CapPrm:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      const { uid, mode } = statSync(place.dataDir);
      expect([uid, mode & 0o777]).toEqual([1000, 0o700]);

      expect(await compose(place, 'exec', '-T', 'server', 'podyard', 'users', 'list')).toContain('admin');
      await compose(place, 'restart', '--timeout', '20', 'server');
      await runJob(new Api({ url: await readyUrl(place, 2), key }));
    },
    LIMIT_MS,
  );

  test(
    'in the place of the file of version 0.1.0, the server has its data, its key and its user',
    async () => {
      const place = makePlace();
      const key = 'pyk_of_version_0_1_0';
      mkdirSync(place.dataDir, { mode: 0o700 });
      chownSync(place.dataDir, 1234, 1000);
      const asOperator = (await readFile(FIRST_FILE, 'utf8')).replace(
        'network_mode: host',
        "user: '1234'\n    network_mode: host",
      );
      await writeFile(join(place.folder, 'compose.yaml'), asOperator);
      const first: Place = {
        ...place,
        env: {
          ...place.env,
          PODYARD_IMAGE: images![0],
          PODYARD_POSTGRES_IMAGE: images![1],
          PODYARD_ADMIN_KEY: key,
          DOCKER_GID: String(statSync('/var/run/docker.sock').gid),
        },
      };
      await compose(first, 'up', '-d', '--no-build');
      const endpointId = await new Api({ url: await readyUrl(first), key }).createEndpoint({
        workers: { min: 0, max: 1 },
      });

      copyFileSync(FILE, join(place.folder, 'compose.yaml'));
      await compose(place, 'up', '-d');
      const api = new Api({ url: await readyUrl(place), key });
      expect(await api.runToEnd(endpointId, { echo: 'kept' })).toMatchObject({ output: 'kept' });
      await api.delete(endpointId);
      expect(await statusOf(place)).toMatch(/^Uid:\t1234\t/m);
      expect(statSync(join(place.dataDir, 'master-key')).uid).toBe(1234);
    },
    LIMIT_MS,
  );

  test(
    'a data directory that is not Podyard’s is refused with what to run, and settings come from .env',
    async () => {
      const place = makePlace();
      copyFileSync(FILE, join(place.folder, 'compose.yaml'));
      mkdirSync(join(place.folder, 'others/something'), { recursive: true });
      const { PODYARD_DATA_DIR: _, ...env } = place.env;
      place.env = env;
      await writeFile(join(place.folder, '.env'), `PODYARD_DATA_DIR=${place.folder}/others\nPODYARD_PORT=7\n`);
      const version = compose(place, 'run', '--rm', 'server', '--version');
      await expect(version).rejects.toThrow(`sudo chown -R 1000:1000 ${place.folder}/others`);
    },
    LIMIT_MS,
  );
});
