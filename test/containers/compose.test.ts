import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { Api, until } from '../e2e/api.ts';
import { makePodyardImage } from '../kubernetes/podyard-image.ts';
import { composeCommand } from './compose-command.ts';
import { containersOf, describeWithEngine, needExampleImages } from './container-engine.ts';
import { importFolder, makePostgresFolder } from './package-images.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SET_UP_MS = 240_000;
const LIMIT_MS = 180_000;
/** compose.yaml of version 0.1.0. */
const FIRST_FILE = fileURLToPath(new URL('compose-0.1.0.yaml', import.meta.url));

describeWithEngine('deploy/compose.yaml', () => {
  const docker = new Docker();
  /** What PODYARD_REGISTRY names; both images come from there. */
  const registry = `localhost/podyard-test-${newId(6).toLowerCase()}`;
  let work: string;
  let images: string[];
  let started: { folder: string; project: string }[] = [];

  beforeAll(async () => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'podyard-compose-')));
    chmodSync(work, 0o755);
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    images = [`${registry}/podyard:${version}`, `${registry}/postgres:18`];
    await needExampleImages();
    await makePodyardImage(images[0]!);
    await makePostgresFolder(join(work, 'postgres'));
    importFolder(join(work, 'postgres'), images[1]!, ['USER 999:999', 'ENTRYPOINT ["/usr/local/bin/start-postgres"]']);
  }, SET_UP_MS);
  afterEach(async () => {
    for (const { folder, project } of started) await compose(folder, project, 'down', '--volumes', '--timeout', '20');
    started = [];
  }, LIMIT_MS);
  afterAll(async () => {
    for (const image of images ?? [])
      await docker
        .getImage(image)
        .remove({ force: true })
        .catch(() => {});
    rmSync(work, { recursive: true, force: true });
  });

  /** Runs Compose in a folder, as an operator does who has set nothing in the shell. */
  async function compose(folder: string, project: string, ...args: string[]): Promise<string> {
    const [program, ...first] = composeCommand();
    const { PATH = '', HOME = '' } = process.env;
    const options = {
      cwd: folder,
      env: { PATH, HOME, COMPOSE_PROJECT_NAME: project },
      maxBuffer: 2 ** 26,
      timeout: LIMIT_MS,
    };
    return (await run(program!, [...first, ...args], options)).stdout;
  }

  /** A folder with nothing but the file, and the settings that keep tests apart. */
  function makeFolder(settings: Record<string, string>, file = join(ROOT, 'deploy/compose.yaml')) {
    const name = newId(6).toLowerCase();
    const folder = join(work, name);
    mkdirSync(folder);
    const project = `podyard-test-${name}`;
    copyFileSync(file, join(folder, 'compose.yaml'));
    const dataDir = join(folder, 'data');
    const all = { PODYARD_REGISTRY: registry, PODYARD_DATA_DIR: dataDir, PODYARD_PORT: '0', ...settings };
    writeFileSync(
      join(folder, '.env'),
      Object.entries(all)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
    );
    started.push({ folder, project });
    return { folder, project, dataDir };
  }

  async function readyUrl(folder: string, project: string): Promise<{ url: string; log: string }> {
    const log = () => compose(folder, project, 'logs', '--no-color', 'server');
    const isReady = async () => /ready at (\S+)/.exec(await log())?.[1];
    const url = await until('it is ready', isReady, 90_000).catch(async (cause) => {
      throw new Error(`it is not ready: ${await log()}`, { cause });
    });
    return { url, log: await log() };
  }

  async function serverOf(project: string): Promise<Docker.ContainerInspectInfo> {
    const filters = { label: [`com.docker.compose.project=${project}`, 'com.docker.compose.service=server'] };
    const [found] = await docker.listContainers({ filters });
    return docker.getContainer(found!.Id).inspect();
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
    'one file and one command in an empty folder start a server that runs a job, and that is not root',
    async () => {
      const { folder, project, dataDir } = makeFolder({});
      await compose(folder, project, 'up', '-d');
      const { url, log } = await readyUrl(folder, project);
      const key = /pyk_\w+/.exec(log)![0];
      await runJob(new Api({ url, key }));

      const { HostConfig, State } = await serverOf(project);
      expect([HostConfig.ReadonlyRootfs, HostConfig.Privileged]).toEqual([true, false]);
      const status = await readFile(`/proc/${State.Pid}/status`, 'utf8');
      const socketGroup = statSync('/var/run/docker.sock').gid;
      expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
      expect(/^Groups:\t(.*)$/m.exec(status)![1]!.trim().split(' ')).toContain(String(socketGroup));
      expect(status).toMatch(/^CapPrm:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      const { uid, mode } = statSync(dataDir);
      expect([uid, mode & 0o777]).toEqual([1000, 0o700]);

      // Other commands, and a restart that keeps everything.
      expect(await compose(folder, project, 'run', '--rm', 'server', 'users', 'list')).toContain('ADMIN');
      await compose(folder, project, 'restart', '--timeout', '20');
      await until(
        'it answers again',
        async () => (await compose(folder, project, 'logs', 'server')).split('ready at').length > 2,
      );
    },
    LIMIT_MS,
  );

  test(
    'with the file of version 0.1.0 replaced by this one, the server has its data, key and user',
    async () => {
      const socketGroup = String(statSync('/var/run/docker.sock').gid);
      const { folder, project, dataDir } = makeFolder(
        { DOCKER_GID: socketGroup, PODYARD_ADMIN_KEY: 'pyk_first_of_0_1_0' },
        FIRST_FILE,
      );
      mkdirSync(dataDir, { mode: 0o700 });
      chownSync(dataDir, 1000, 1000);
      writeFileSync(join(folder, '.env'), `PODYARD_IMAGE=${images[0]}\nPODYARD_POSTGRES_IMAGE=${images[1]}\n`, {
        flag: 'a',
      });
      await compose(folder, project, 'up', '-d', '--no-build');
      const before = new Api({ url: (await readyUrl(folder, project)).url, key: 'pyk_first_of_0_1_0' });
      const endpointId = await before.createEndpoint({ workers: { min: 0, max: 1 } });

      copyFileSync(join(ROOT, 'deploy/compose.yaml'), join(folder, 'compose.yaml'));
      writeFileSync(
        join(folder, '.env'),
        `PODYARD_REGISTRY=${registry}\nPODYARD_DATA_DIR=${dataDir}\nPODYARD_PORT=0\n`,
      );
      await compose(folder, project, 'up', '-d');
      const after = new Api({ url: (await readyUrl(folder, project)).url, key: 'pyk_first_of_0_1_0' });
      expect(await after.runToEnd(endpointId, { echo: 'kept' })).toMatchObject({ output: 'kept' });
      await after.delete(endpointId);
      expect(statSync(join(dataDir, 'master-key')).uid).toBe(1000);
    },
    LIMIT_MS,
  );

  test(
    'a data directory that is not Podyard’s is refused with what to run',
    async () => {
      const { folder, project, dataDir } = makeFolder({});
      mkdirSync(join(dataDir, 'something'), { recursive: true });
      await expect(compose(folder, project, 'run', '--rm', 'server', '--version')).rejects.toThrow(
        `sudo chown -R 1000:1000 ${dataDir}`,
      );
    },
    LIMIT_MS,
  );
});
