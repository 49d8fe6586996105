import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../test/control-loops.ts';
import { ModelHub, useOf } from '../../../test/model-hub.ts';
import type { EndpointId, KeyId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import type { ModelUse, PinnedModel } from '../../domain/models/pinned-model.ts';
import { pinModel } from '../../domain/models/pinned-model-store.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { workerStages } from '../../domain/workers/worker-timeline.ts';
import { ModelStore } from '../../models/store/model-store.ts';
import type { Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 30_000, interval: 20 };
const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
const world = new SimulatedWorld({
  pools: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 2 }],
});
const started: WorkloadSpec[] = [];
let hub: ModelHub;
let control: ControlLoops;
let store: ModelStore;
beforeAll(async () => {
  hub = await ModelHub.start();
  store = new ModelStore({
    root,
    hubUrl: hub.url,
    parallel: 4,
    bytesPerSecond: null,
    budgetBytes: 100_000_000,
    reach: null,
    isShown: true,
    retryMs: 1,
  });
  control = await ControlLoops.start(world, recordStarts, undefined, store);
});
afterAll(async () => {
  await control.close();
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  hub.faults.clear();
  hub.sent.clear();
  hub.readers = null;
  started.length = 0;
});
afterEach(async () => {
  await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  for (const { id } of await control.sql('select id from endpoints')) control.notify(id);
  await vi.waitFor(
    async () => expect(await control.sql("select from workers where phase <> 'EXITED'")).toEqual([]),
    soon,
  );
});

/** Keeps what workers are started with. */
function recordStarts(runtime: Runtime): Runtime {
  return new Proxy(runtime, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name === 'start') {
        return (spec: WorkloadSpec, options: never) => {
          started.push(spec);
          return target.start(spec, options);
        };
      }
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

async function pin(name: string, files: Record<string, number>): Promise<PinnedModel> {
  return pinModel(control.database.pool, hub.add(name, files));
}

/** Creates an endpoint whose release has models, and gives it workers. */
async function endpoint(uses: ModelUse[], { min = 1 } = {}): Promise<EndpointId> {
  const id = await control.endpoint({ workers: { min: 0, max: 2 } });
  await control.sql(
    `update releases set spec = spec || jsonb_build_object('models', $2::jsonb) where endpoint_id = $1`,
    id,
    JSON.stringify(uses),
  );
  await control.sql('update endpoints set workers_min = $2 where id = $1', id, min);
  control.notify(id);
  return id;
}

const isRunning = (id: EndpointId, count = 1) =>
  vi.waitFor(async () => {
    const workers = await control.workers(id);
    expect(workers.filter(({ phase }) => phase === 'RUNNING')).toHaveLength(count);
  }, soon);
const rows = (id: EndpointId) =>
  control.sql(
    `select id, phase, gpu_pool as pool, timeline, started_at as "startedAt", is_lost as "isLost", phase_reason as reason
     from workers where endpoint_id = $1 order by created_at`,
    id,
  );

test('workers get their models before a place, once for all, and unbilled', async () => {
  const model = await pin('org/name', { 'model.safetensors': 2_000_000, 'config.json': 500 });
  let open = () => {};
  hub.faults.set('model.safetensors', { until: new Promise<void>((resolve) => (open = resolve)) });
  const id = await endpoint([useOf(model, { revision: 'main' })], { min: 2 });
  await vi.waitFor(async () => {
    const waiting = { phase: 'PENDING', pool: null, startedAt: null, timeline: { modelsFrom: expect.any(String) } };
    expect(await rows(id)).toMatchObject([waiting, waiting]);
  }, soon);
  open();
  await isRunning(id, 2);
  expect(hub.sentBytes).toBe(2_000_500);
  const [{ id: workerId, timeline }] = await rows(id);
  const stages = workerStages({ createdAt: new Date(0), endedAt: null }, timeline).map(({ stage }) => stage);
  expect(stages).toEqual(['models', 'capacity', 'pull', 'create', 'start', 'ready']);
  const spec = started.find((one) => one.id === workerId)!;
  expect(spec.mounts.map(({ target }) => target)).toEqual([
    '/runpod-volume/huggingface-cache/hub',
    '/runpod-volume/huggingface-cache/hub/models--org--name',
    '/runpod/cache',
  ]);
  expect(spec.imageDefaults).toMatchObject({ HF_HUB_CACHE: '/runpod-volume/huggingface-cache/hub' });
});

test('a model that may not be read is a failed start that names it and never had a place', async () => {
  hub.readers = new Set(['hf_anna']);
  const model = await pin('org/gated', { 'model.safetensors': 1_000 });
  const id = await endpoint([useOf(model)]);
  await vi.waitFor(async () => {
    const failed = (await rows(id)).filter(({ isLost, phase }) => isLost && phase === 'EXITED');
    expect(failed[0]).toMatchObject({ pool: null, reason: expect.stringContaining("refuses the model 'org/gated'") });
  }, soon);
});

test('a model whose secret is gone is a failed start that says so of the model', async () => {
  const id = await endpoint([useOf(await pin('org/tokenless', { 'a.bin': 10 }), { tokenSecret: 'gone' })]);
  const reason = "the model 'org/tokenless': there is no secret 'gone', which is to hold its token";
  await vi.waitFor(async () => expect((await rows(id))[0]).toMatchObject({ phase: 'EXITED', reason }), soon);
});

test('the token of a gated one comes from the owner’s secret', async () => {
  hub.readers = new Set(['hf_anna']);
  const model = await pin('org/gated', { 'model.safetensors': 1_001 });
  await addSecret('hub', 'hf_anna');
  const id = await endpoint([useOf(model, { tokenSecret: 'hub' })]);
  await isRunning(id);
  expect(JSON.stringify(started)).not.toContain('hf_anna');
});

test('a worker that is not wanted any more ends the fetch, and what it holds is let go', async () => {
  const model = await pin('org/slow', { 'model.safetensors': 2_000_001 });
  hub.faults.set('*', { halfUntil: new Promise(() => {}) });
  const id = await endpoint([useOf(model)]);
  await vi.waitFor(async () => expect((await rows(id))[0]?.timeline).toHaveProperty('modelsFrom'), soon);
  await control.sql('update endpoints set workers_min = 0, workers_max = 0 where id = $1', id);
  control.notify(id);
  await vi.waitFor(async () => expect(await rows(id)).toMatchObject([{ phase: 'EXITED', isLost: false }]), soon);
  await vi.waitFor(async () => expect((await store.list()).every(({ isHeld }) => !isHeld)).toBe(true), soon);
  expect(readdirSync(join(root, 'workers'))).toEqual([]);
});

async function addSecret(name: string, value: string): Promise<void> {
  const { database, bus, secretBox, userId } = control;
  const actor = { userId, keyId: 'k' as KeyId, scopes: [{ kind: 'all' as const }] };
  await change({ pool: database.pool, bus, secretBox }, actor, createSecret, { name, value, description: null });
}
