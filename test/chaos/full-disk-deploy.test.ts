/** `podyard deploy` where a disk is full: a sentence and an exit status, nothing half done, and the next deploy works (docs/guide/builds.md). */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { BASE, makeBase } from '../builder-contract/dockerfile-projects.ts';
import { Api, until } from '../e2e/api.ts';
import { podyard, run, runToFailure } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasEngine } from '../engine.ts';
import { OwnEngine } from '../own-engine.ts';

const MIB = 2 ** 20;
/** Builds leave so much free. */
const RESERVE_MIB = 2048;
/** The exit status of a failed build. */
const BUILD_FAILED = 9;

function mountDisk(folder: string, mebibytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0711`, 'podyard-test', folder]);
}

/** Leaves so many MiB free in `folder`. Returns what frees the rest again. */
async function fill(folder: string, leaveMib: number): Promise<() => Promise<void>> {
  const { bavail, bsize } = await statfs(folder);
  const filler = join(folder, 'filler');
  execFileSync('fallocate', ['-l', String(bavail * bsize - leaveMib * MIB), filler]);
  return () => rm(filler, { force: true });
}

interface Build {
  status: string;
  reason: string | null;
  image: string | null;
}

/** Mounting needs root. */
describe.skipIf(process.getuid!() !== 0)('on a full disk', () => {
  async function deployer(server: ServerProcess) {
    const home = await mkdtemp(join(tmpdir(), 'podyard-home-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
    const folder = join(home, 'app');
    await mkdir(folder);
    const api = new Api(server);
    return {
      ...{ api, env, folder },
      write: (name: string, content: string | Buffer) => writeFile(join(folder, name), content),
      deploy: () => run(['deploy', folder, '--yes'], env),
      deployInVain: (status: number) => runToFailure(['deploy', folder, '--yes'], env, status),
      endpoints: async () =>
        (await api.call<{ endpoints: { id: string }[] }>('GET', '/v2/serverless')).endpoints.map(({ id }) => id),
      lastBuild: async () => (await api.call<{ builds: Build[] }>('GET', '/v2/builds')).builds[0]!,
    };
  }

  test('of the data directory: neither a build nor an upload takes the last room, and both work once there is some', async () => {
    const server = await ServerProcess.create({ runtime: 'process' });
    mountDisk(server.dataDir, RESERVE_MIB + 500);
    onTestFinished(async () => {
      await server.stop();
      execFileSync('umount', ['--lazy', server.dataDir]);
      await server.dispose();
    });
    await server.start();
    const { write, deploy, deployInVain, endpoints, lastBuild, api, env, folder } = await deployer(server);
    const made = async () => [
      ...(await readdir(join(server.dataDir, 'builds'))),
      ...(await readdir(join(server.dataDir, 'images', server.installation)).catch(() => [])),
    ];
    /** `npm install` runs it, in the folder. */
    const installs = (mebibytes: number) =>
      JSON.stringify({
        dependencies: { own: 'file:./own' },
        scripts: {
          postinstall: `node -e "fs.writeFileSync('out', Buffer.alloc(${mebibytes} * ${MIB})); setTimeout(() => {}, 1000)"`,
        },
      });
    await mkdir(join(folder, 'own'));
    await write('own/package.json', JSON.stringify({ name: 'own', version: '1.0.0' }));
    await write('podyard.yaml', 'workers: { max: 1 }\n');
    await write('handler.js', 'module.exports = () => "it runs";\n');

    // A step that fills the disk.
    await write('package.json', installs(700));
    const full = /The disk of the server is almost full: \d+ MB are free, and builds leave 2147 MB/;
    expect(await deployInVain(BUILD_FAILED)).toMatch(full);
    expect(await lastBuild()).toMatchObject({ status: 'FAILED', image: null, reason: expect.stringMatching(full) });
    expect([await endpoints(), await made()]).toEqual([[], []]);

    // No room before it begins.
    await write('package.json', installs(1));
    const free = await fill(server.dataDir, RESERVE_MIB - 1);
    expect(await deployInVain(BUILD_FAILED)).toMatch(full);
    expect([await endpoints(), await made()]).toEqual([[], []]);
    await free();
    await deploy();
    const [id] = await endpoints();
    expect(await api.runToEnd(id!, {})).toMatchObject({ output: 'it runs' });

    // In the middle of an upload.
    await write('model.bin', randomBytes(40 * MIB));
    const freeAgain = await fill(server.dataDir, 140);
    const command = podyard(['deploy', folder, '--yes'], env);
    const scarce =
      /^! The disk of the data directory is almost full: \d+ MiB are free, and uploads leave 128\. The upload is tried again/m;
    await until('it says what it waits for', async () => scarce.test(command.text()));
    expect(await api.runToEnd(id!, {})).toMatchObject({ output: 'it runs' });
    await freeAgain();
    await until('it has ended', async () => command.exitCode !== null, 60_000);
    expect([command.exitCode, command.text()]).toEqual([0, expect.stringContaining('Uploaded')]);
    expect(await api.runToEnd(id!, {})).toMatchObject({ output: 'it runs' });
  });

  test.skipIf(!hasEngine)(
    'of the engine: the step is named, nothing of it stays, and the next deploy works',
    async () => {
      const disk = await mkdtemp(join(tmpdir(), 'podyard-disk-'));
      mountDisk(disk, RESERVE_MIB + 300);
      const engine = await OwnEngine.start(disk);
      const server = await ServerProcess.create({
        runtime: 'docker',
        env: { DOCKER_HOST: `unix://${engine.socketPath}` },
        openRuntime: (installation) =>
          createDockerRuntime({ installation, gpus: new Map(), logger: silentLogger, socketPath: engine.socketPath }),
      });
      onTestFinished(async () => {
        await server.dispose();
        await engine.dispose(); // unmounts it as well
        await rm(disk, { recursive: true });
      });
      const own = new Engine(engine.socketPath);
      await makeBase(own);
      await own.close();
      await server.start();
      const { write, deploy, deployInVain, endpoints, lastBuild } = await deployer(server);
      const containers = async () => {
        const docker = new Docker({ socketPath: engine.socketPath });
        const images = (await docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
        return { images, containers: (await docker.listContainers({ all: true })).length };
      };
      const before = { images: [BASE], containers: 0 };
      const args = JSON.stringify({ entrypoint: ['sleep', '3600'] });
      await write('podyard.yaml', `args: '${args}'\nworkers: { max: 0 }\n`);

      await write('Dockerfile', `FROM ${BASE}\nRUN head -c 400000000 /dev/urandom >/file; sleep 5; rm /file\n`);
      const full = /The disk of the engine's machine is almost full: \d+ MB are free, and builds leave 2147 MB/;
      expect(await deployInVain(BUILD_FAILED)).toMatch(full);
      expect(await lastBuild()).toMatchObject({ status: 'FAILED', image: null, reason: expect.stringMatching(full) });
      expect([await endpoints(), await containers()]).toEqual([[], before]);

      await write('Dockerfile', `FROM ${BASE}\nRUN echo small >/file\n`);
      const free = await fill(disk, RESERVE_MIB - 1);
      expect(await deployInVain(BUILD_FAILED)).toMatch(full);
      expect([await endpoints(), await containers()]).toEqual([[], before]);
      await free();
      await until('the cache of the failed step is small again', async () => {
        const { bavail, bsize } = await statfs(disk);
        return bavail * bsize > RESERVE_MIB * MIB;
      });
      await deploy();
      expect(await endpoints()).toHaveLength(1);
    },
  );
});
