/** An engine, or its server, that is killed while a start fetches a model, or while it builds: nothing is half done, and workers that run stay. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { BASE, makeBase } from '../builder-contract/dockerfile-projects.ts';
import { Api, until } from '../e2e/api.ts';
import { podyard, run } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { findProcesses } from '../find-processes.ts';
import { ModelHub } from '../model-hub.ts';
import { OwnEngine } from '../own-engine.ts';
import { describeWithEngine } from './container-engine.ts';

const NAME = 'acme/tiny';
const SIZE = 2_000_000;

describeWithEngine('an engine that is killed', () => {
  let origin: ModelHub;
  let engine: OwnEngine;
  let server: ServerProcess;
  beforeAll(async () => {
    origin = await ModelHub.start();
    origin.models.set(NAME, { files: { 'model.bin': randomBytes(SIZE) } });
    engine = await OwnEngine.start();
    const own = new Engine(engine.socketPath);
    await makeBase(own);
    await own.close();
    server = await ServerProcess.start({
      runtime: 'docker',
      env: { DOCKER_HOST: `unix://${engine.socketPath}`, PODYARD_HUB_URL: origin.url },
      openRuntime: (installation) =>
        createDockerRuntime({ installation, gpus: new Map(), logger: silentLogger, socketPath: engine.socketPath }),
    });
  });
  afterAll(async () => {
    await server?.dispose();
    await engine?.dispose();
    await origin?.close();
  });

  const containers = async () => {
    const found = await new Docker({ socketPath: engine.socketPath }).listContainers({ all: true });
    const workloads = found.filter(({ Labels }) => Labels['podyard.kind'] === 'worker');
    return new Map(workloads.map(({ Id, Labels, State }) => [Labels['podyard.id']!, `${State} ${Id}`]));
  };

  test('in the middle of a start that fetches a model ends neither the fetch nor what runs, and the start goes on', async () => {
    const api = new Api(server);
    const args = JSON.stringify({ entrypoint: ['sleep', '3600'] });
    const settings = { image: BASE, args, workers: { min: 1, max: 1 } };
    const runs = async (endpoint: string) => {
      const rows = await server.query<{ id: string; phase: string }>(
        'select id, phase from workers where endpoint_id = $1',
        [endpoint],
      );
      return rows.length === 1 && rows[0]!.phase === 'RUNNING' && rows[0]!.id;
    };
    const running = await api.createEndpoint({ name: 'running', ...settings });
    const workerId = await until('a worker runs', () => runs(running));
    const before = (await containers()).get(workerId);

    const half = Promise.withResolvers<void>();
    origin.faults.set('*', { halfUntil: half.promise });
    const starting = await api.createEndpoint({ name: 'starting', ...settings, workers: { min: 0, max: 1 } });
    await api.call('PUT', `/v2/serverless/${starting}/models`, { models: [{ source: `hf:${NAME}` }] });
    await api.patch(starting, { workers: { min: 1, max: 1 } });
    await until('half is sent', async () => origin.sent.get('model.bin') === SIZE / 2);
    await engine.kill();
    half.resolve();
    await until('the model is here', async () => {
      const { models } = await api.call<{ models: { state: string }[] }>('GET', '/v2/models');
      return models[0]?.state === 'STORED';
    });
    await until('the worker says what it waits for', async () => {
      const why = "phase = 'PENDING' and phase_reason like 'The container engine cannot be reached%'";
      return (await server.query(`select from workers where endpoint_id = $1 and ${why}`, [starting])).length === 1;
    });
    await engine.start();
    const startedId = await until('the other one runs as well', () => runs(starting));
    const after = await containers();
    expect([...after.keys()].sort()).toEqual([workerId, startedId].sort());
    expect(after.get(workerId)).toBe(before);
    expect(origin.sent.get('model.bin')).toBe(SIZE);
  });

  describe('while it builds', () => {
    let home: string;
    let deploy: string[];
    let env: Record<string, string>;
    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'podyard-kills-'));
      deploy = ['deploy', home, '--name', 'built', '--yes'];
      env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key, HOME: home };
      const args = JSON.stringify({ entrypoint: ['sleep', '3600'] });
      await writeFile(join(home, 'podyard.yaml'), `args: '${args}'\nworkers: { max: 0 }\n`);
    });
    afterAll(() => rm(home, { recursive: true, force: true }));

    const SLEEP = 86_394;
    /** Starts a deploy. Resolves when its step runs, with the step's control groups. */
    async function deployStep(step: string, sleepsFor: string) {
      await writeFile(join(home, 'Dockerfile'), `FROM ${BASE}\nRUN ${step}\n`);
      const command = podyard(deploy, env);
      const ended = once(command, 'close');
      const pid = await until('its step runs', async () => findProcesses(new RegExp(`^sleep ${sleepsFor}`))[0]);
      const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
        .trim()
        .split('\n')
        .flatMap((line) => {
          const [, controller, path] = line.split(':');
          const folder = join('/sys/fs/cgroup', controller!.replace('name=', ''), path!);
          return path !== '/' && existsSync(folder) ? [folder] : [];
        });
      expect(groups).not.toEqual([]);
      return { command, ended, groups };
    }
    async function expectNothingLeft(groups: readonly string[]): Promise<void> {
      await until('no step runs', async () => findProcesses(/^sleep (?:86394|4\.25)/).length === 0);
      await until('its groups are gone', async () => !groups.some((folder) => existsSync(folder)));
      expect(await readdir(join(server.dataDir, 'builds'))).toEqual([]);
      const { builds } = await new Api(server).call<{ builds: { image: string | null }[] }>('GET', '/v2/builds');
      const images = await new Docker({ socketPath: engine.socketPath }).listImages();
      const names = images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => !name.includes('network-holder'));
      const kept = builds.flatMap(({ image }) => image ?? []);
      expect(names.sort()).toEqual([BASE, ...kept].sort());
    }

    test('the build ends with the reason, and the next one works', async () => {
      const { command, ended, groups } = await deployStep(`echo started; sleep ${SLEEP}`, String(SLEEP));
      await engine.kill();
      await ended;
      expect([command.exitCode, command.text()]).toEqual([
        9,
        expect.stringContaining('The container engine went away in the middle of the build.'),
      ]);
      await engine.start();
      await writeFile(join(home, 'Dockerfile'), 'FROM scratch\nCOPY Dockerfile /\n');
      await run(deploy, env);
      await expectNothingLeft(groups);
    });

    test('a server that is killed builds again, and the command goes on', async () => {
      const { command, ended, groups } = await deployStep('sleep 4.25', '4.25');
      await server.kill();
      await server.start();
      await ended;
      expect([command.exitCode, command.text()]).toEqual([0, expect.anything()]);
      const again = await server.query<{ status: string }>('select status from builds where interruptions = 1');
      expect(again).toEqual([{ status: 'COMPLETED' }]);
      await expectNothingLeft(groups);
    });
  });
});
