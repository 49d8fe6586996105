import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { ensureInstallation, updateRuntime } from '../../domain/installation.ts';
import { saveMoveMark } from '../../domain/move-mark.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';
import type { Storage } from '../shared/cli-pieces.ts';
import { stopWorkers } from './stop-workers.ts';

let database: TestDatabase;
let world: SimulatedWorld;
let printed: string[];
let noted: string[];
let opened: string[];
let open: (installation: string) => Runtime;

beforeEach(async () => {
  database = await createTestDatabase();
  world = new SimulatedWorld();
  world.images.add(workloadSpec().image);
  [printed, noted, opened] = [[], [], []];
  open = (installation) => createSimulatedRuntime({ installation, world });
});
afterEach(() => database.drop());

function run(runtime: string | null = null): Promise<void> {
  const storage: Storage = {
    dataDir: '/nowhere',
    databaseUrl: database.url,
    masterKey: { keys: null, file: '/nowhere/master-key' },
    withEmbedded: () => expect.fail('it has a URL'),
  };
  const options = {
    runtime,
    graceMs: 0,
    open: async (name: string, installation: string) => {
      opened.push(name);
      return open(installation);
    },
  };
  return stopWorkers(storage, options, { print: (text) => printed.push(text), note: (text) => noted.push(text) });
}

async function startSome(): Promise<{ listed: () => Promise<number> }> {
  const { id } = await ensureInstallation(database.pool);
  for (const kind of ['worker', 'worker', 'pod'] as const) await open(id).start(workloadSpec({ kind }));
  return { listed: async () => (await open(id).list()).length };
}

async function withServer<T>(work: () => Promise<T>): Promise<T> {
  const { pool, url: databaseUrl } = database;
  const bus = new Bus({ pool, databaseUrl, processId: 'p', logger: silentLogger });
  await bus.start();
  return work().finally(() => bus.stop());
}

test('stops the workloads of this installation in the last runtime, and no others', async () => {
  const { listed } = await startSome();
  await open('another').start(workloadSpec());
  await updateRuntime(database.pool, 'docker');
  await run();
  expect(opened).toEqual(['docker']);
  expect(printed).toEqual(['2 workers and 1 pod of the docker runtime were stopped']);
  expect([await listed(), (await open('another').list()).length]).toEqual([0, 1]);
});

test('removes the networks of clusters', async () => {
  await startSome();
  const networks = new Set(['c1', 'c2']);
  open = (installation) => {
    const runtime = createSimulatedRuntime({ installation, world });
    const list = async () => [...networks];
    const remove = async (id: string) => void networks.delete(id);
    return Object.assign(runtime, { groups: { ...runtime.groups, list, remove } });
  };
  await updateRuntime(database.pool, 'docker');
  await run();
  expect([...networks]).toEqual([]);
});

test('reports its progress; a workload that cannot be stopped is named, and the others are stopped', async () => {
  const { listed } = await startSome();
  await updateRuntime(database.pool, 'kubernetes');
  open = (installation) => {
    const runtime = createSimulatedRuntime({ installation, world });
    const stop = runtime.stop.bind(runtime);
    let stopped = 0;
    runtime.stop = async (id, graceMs) => {
      stopped += 1;
      if (stopped === 1) throw new Error('its node is silent');
      await stop(id, graceMs);
    };
    return runtime;
  };
  await expect(run()).rejects.toThrow(/^1 could not be stopped; run it again. First failure: \w+: its node is silent$/);
  expect(noted).toEqual(['Stopping 2 workers and 1 pod of the kubernetes runtime; each has up to 0 s to finish …']);
  expect(printed).toEqual(['1 worker and 1 pod of the kubernetes runtime were stopped']);
  expect(await listed()).toBe(1);
});

test('throws while a server uses that runtime; workloads of a former runtime can be stopped meanwhile', async () => {
  const { listed } = await startSome();
  await updateRuntime(database.pool, 'kubernetes');
  await withServer(async () => {
    await expect(run()).rejects.toThrow(/^a server runs on postgresql:/);
    await expect(run('kubernetes')).rejects.toThrow(/^a server runs on postgresql:/);
    expect(await listed()).toBe(3);
    await run('docker');
  });
  expect([opened, await listed()]).toEqual([['docker'], 0]);
});

test('stops nothing of a database that was moved away: the new one may need it', async () => {
  const { listed } = await startSome();
  await saveMoveMark(database.pool, { id: 'm', state: 'left', to: 'elsewhere', at: 'then' });
  await expect(run('docker')).rejects.toThrow('this database was moved to elsewhere');
  expect(await listed()).toBe(3);
});

test('an unknown runtime must be named', async () => {
  await expect(run()).rejects.toThrow('no server ever ran on this database');
  await startSome();
  await expect(run()).rejects.toThrow('the runtime is unknown: name it with --runtime docker, process');
  await expect(run('podman')).rejects.toThrow('name it with --runtime');
});
