import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../test/control-loops.ts';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import type { EndpointId, KeyId, WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { change } from '../../domain/change.ts';
import type { ModelUse } from '../../domain/models/pinned-model.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { workerStages } from '../../domain/workers/worker-timeline.ts';
import { copyModels } from '../../models/nodes/copy-models.ts';
import { ModelDoor } from '../../models/nodes/model-door.ts';
import { BlobFiles } from '../../models/store/blob-files.ts';
import { ModelStore } from '../../models/store/model-store.ts';
import type { Runtime, StartOptions, WorkloadSpec } from '../../runtimes/runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 30_000, interval: 20 };
const root = mkdtempSync(join(tmpdir(), 'pn-'));
const node = join(root, 'node');
const store = join(root, 'store');
const { signal } = new AbortController();
const started: WorkloadSpec[] = [];
/** The bytes that models may take of the node. */
let nodeBytes = 100_000_000;
let hub: ModelHub;
let control: ControlLoops;
let models: ModelStore;
let door: ModelDoor;

beforeAll(async () => {
  hub = await ModelHub.start();
  hub.readers = new Set(['hf_anna']);
  models = new ModelStore({
    ...{ root: store, hubUrl: hub.url, parallel: 4, bytesPerSecond: null, budgetBytes: 100_000_000, reach: null },
    ...{ isShown: true, retryMs: 1 },
  });
  const blobs = new BlobFiles(store);
  door = new ModelDoor({
    address: async () => ({ bind: '127.0.0.1', host: '127.0.0.1' }),
    port: 0,
    pathOf: (file) => blobs.pathOf(file),
    listLive: async (ids) => new Set(ids),
    logger: silentLogger,
  });
  door.start();
  const world = new SimulatedWorld({
    pools: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 4 }],
  });
  control = await ControlLoops.start(world, onNodes, undefined, models, door);
  const { database, bus, secretBox, userId } = control;
  const actor = { userId, keyId: 'k' as KeyId, scopes: [{ kind: 'all' as const }] };
  const secret = { name: 'hub', value: 'hf_anna', description: null };
  await change({ pool: database.pool, bus, secretBox }, actor, createSecret, secret);
});
afterAll(async () => {
  await control.close();
  await door.stop();
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});

/** Copies the models of workers before they run, as a cluster does. */
function onNodes(runtime: Runtime): Runtime {
  return new Proxy(runtime, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'start') {
        return async (spec: WorkloadSpec, options: StartOptions) => {
          started.push(spec);
          options.onCreated?.();
          options.onModels?.(false);
          const copying = { onProgress: (line: string) => options.onProgress?.(line), signal };
          await copyModels({ url: spec.models!.url, root: node, budgetBytes: nodeBytes, retryMs: 1 }, copying);
          options.onModels?.(true);
          return target.start(spec, options);
        };
      }
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

async function endpoint(use: ModelUse, min: number): Promise<EndpointId> {
  const id = await control.endpoint({ workers: { min: 0, max: 2 } });
  await control.sql(
    `update releases set spec = spec || jsonb_build_object('models', $2::jsonb) where endpoint_id = $1`,
    id,
    JSON.stringify([use]),
  );
  await control.sql('update endpoints set workers_min = $2 where id = $1', id, min);
  control.notify(id);
  return id;
}
const rows = (id: EndpointId) =>
  control.sql(
    `select id, phase, timeline, started_at as "startedAt", is_lost as "isLost", phase_reason as reason
     from workers where endpoint_id = $1 order by created_at`,
    id,
  );

test('the origin sends each byte once; what was stored here for workers is let go once they run', async () => {
  const model = await pinModel(
    control.database.pool,
    hub.add('org/far', { 'a.json': 20, 'model.safetensors': 2_000_000 }),
  );
  const id = await endpoint(useOf(model, { revision: 'main', tokenSecret: 'hub' }), 2);
  await vi.waitFor(async () => {
    expect((await rows(id)).filter(({ phase }) => phase === 'RUNNING')).toHaveLength(2);
  }, soon);
  expect(hub.sentBytes).toBe(2_000_020);
  for (const { id: worker, timeline } of await rows(id)) {
    const spec = started.find((one) => one.id === worker)!;
    expect(spec.mounts).toEqual([]);
    expect(spec.env).toMatchObject({ HF_HUB_CACHE: '/runpod-volume/huggingface-cache/hub' });
    expect(spec.models).toMatchObject({ bytes: 2_000_020 });
    const ref = join(node, 'workers', worker, spec.models!.folders[0]!.name, 'refs/main');
    expect(readFileSync(ref, 'utf8')).toBe(model.commit);
    const stages = workerStages({ createdAt: new Date(0), endedAt: null }, timeline).map(({ stage }) => stage);
    expect(stages.slice(-5)).toEqual(['pull', 'create', 'models', 'start', 'ready']);
    expect(models.has(worker as WorkerId)).toBe(false);
    expect((await fetch(spec.models!.url, { method: 'POST', body: '{"workers":[]}' })).status).toBe(404);
  }
  expect(JSON.stringify(started)).not.toContain('hf_anna');
  expect(readFileSync(join(node, 'holds', `${(await rows(id))[0].id}.json`), 'utf8')).not.toContain('hf_anna');
});

test('a node without room is a failed start with that reason, unbilled, and another one tries again', async () => {
  nodeBytes = 1_000;
  const model = await pinModel(control.database.pool, hub.add('org/large', { 'model.safetensors': 3_000_000 }));
  const id = await endpoint(useOf(model, { tokenSecret: 'hub' }), 1);
  const reason = expect.stringContaining("the node has no room for 'org/large'");
  await vi.waitFor(async () => {
    const failed = { phase: 'EXITED', isLost: true, startedAt: null, reason };
    expect(await rows(id)).toContainEqual(expect.objectContaining(failed));
  }, soon);
  nodeBytes = 100_000_000;
  await vi.waitFor(async () => {
    expect(await rows(id)).toContainEqual(expect.objectContaining({ phase: 'RUNNING' }));
  }, soon);
  expect(existsSync(join(node, 'blobs', model.files[0]!.digest.replace(':', '-')))).toBe(true);
});
