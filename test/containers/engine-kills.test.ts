/** An engine that is killed while a start fetches a model: nothing is half done, and workers that run stay. */
import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { Engine } from '../../src/engine/engine.ts';
import { createDockerRuntime } from '../../src/runtimes/docker/docker-runtime.ts';
import { BASE, makeBase } from '../builder-contract/dockerfile-projects.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { ModelHub } from '../model-hub.ts';
import { OwnEngine } from '../own-engine.ts';
import { describeWithEngine } from './container-engine.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

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
});
