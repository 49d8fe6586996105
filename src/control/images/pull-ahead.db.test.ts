import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';
import { ReleaseImages } from '../workloads/release-images.ts';
import { ImagePuller } from './pull-ahead.ts';

let database: TestDatabase;
let bus: Bus;
const pulled: string[] = [];
let preparations = 0;
let puller: ImagePuller;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'p', logger: silentLogger });
  await database.pool.query("insert into users (id, name) values ('ann', 'ann')");
  const world = new SimulatedWorld({
    pull: (image) => {
      pulled.push(image);
      return image.startsWith('missing') ? { failure: 'it is not there' } : { ms: 0 };
    },
  });
  const expectStarts = () => {
    preparations += 1;
  };
  const runtime = Object.assign(createSimulatedRuntime({ installation: 'i', world }), { expectStarts });
  const secretBox = createSecretBox(new Uint8Array(32));
  const releaseImages = new ReleaseImages({ pool: database.pool, runtime, secretBox });
  puller = new ImagePuller({ pool: database.pool, bus, logger: silentLogger, runtime, releaseImages, isOn: true });
  puller.start();
});
afterAll(async () => {
  await puller.stop();
  await database.drop();
});

async function endpoint(id: string, image: string, max: number): Promise<EndpointId> {
  await insertEndpoint(database.pool, { id, user_id: 'ann', image, workers_max: max });
  return id as EndpointId;
}

test('the image of a new endpoint is pulled ahead of need, unless it may have no workers', async () => {
  bus.publish('endpoint', await endpoint('none', 'stopped:v1', 0));
  await puller.runOnce();
  expect(preparations).toBe(0);
  bus.publish('endpoint', await endpoint('broken', 'missing:v1', 3));
  bus.publish('endpoint', await endpoint('some', 'wanted:v1', 3));
  bus.publish('endpoint', 'gone');
  await expect.poll(() => pulled).toEqual(expect.arrayContaining(['missing:v1', 'wanted:v1']));
  expect(pulled).not.toContain('stopped:v1');
  expect(preparations).toBe(1); // the runtime prepares once there is an endpoint that may have workers
});

test('its end waits for what reads the database: that may be gone next', async () => {
  let reads = 0;
  const pool = Object.assign(Object.create(database.pool), {
    query: async (...args: unknown[]) => {
      reads += 1;
      await new Promise((resolve) => setImmediate(resolve));
      const result = await Reflect.apply(database.pool.query, database.pool, args);
      reads -= 1;
      return result;
    },
  });
  const runtime = createSimulatedRuntime({ installation: 'i', world: new SimulatedWorld({}) });
  const secretBox = createSecretBox(new Uint8Array(32));
  const releaseImages = new ReleaseImages({ pool, runtime, secretBox });
  const ending = new ImagePuller({ pool, bus, logger: silentLogger, runtime, releaseImages, isOn: true });
  ending.start();
  await expect.poll(() => reads).toBe(1);
  await ending.stop();
  expect(reads).toBe(0);
});

interface Asked {
  image: string;
  gpuPools: readonly string[];
}

/** A puller whose machines, `machines` of them, all lack images. */
function pullerOf(machines: number, more: { isOn?: boolean; disk?: { totalBytes: number; freeBytes: number } } = {}) {
  const asked: Asked[] = [];
  const base = createSimulatedRuntime({ installation: 'i', world: new SimulatedWorld({}) });
  const pullAhead = async ({ image: reference, gpuPools }: Asked) => {
    const image = reference.split('@')[0]!;
    const isLeft = asked.filter((one) => one.image === image).length < machines;
    if (isLeft) asked.push({ image, gpuPools });
    return isLeft;
  };
  const runtime = Object.assign(base, { pullAhead, imageDisk: async () => more.disk ?? null });
  const { pool } = database;
  const releaseImages = new ReleaseImages({ pool, runtime, secretBox: createSecretBox(new Uint8Array(32)) });
  const { isOn = true } = more;
  return { asked, made: new ImagePuller({ pool, bus, logger: silentLogger, runtime, releaseImages, isOn }) };
}

const insert = (pool: TestDatabase['pool'], id: string, min: number) =>
  insertEndpoint(pool, { id, user_id: 'ann', image: id, workers_min: min });

test('after a start the images of all endpoints are looked after, in turns, and first those without workers', async () => {
  await database.pool.query('update endpoints set workers_max = 0, workers_min = 0');
  await insert(database.pool, 'busy', 1);
  await insert(database.pool, 'idle', 0);
  const { asked, made } = pullerOf(2);
  await made.runOnce();
  expect(asked.map(({ image }) => image)).toEqual(['idle', 'busy', 'idle', 'busy']);
  expect(asked[0]!.gpuPools).toEqual(['ADA_24']);
  await made.runOnce(); // nothing changed
  expect(asked).toHaveLength(4);
});

test('no image is pulled ahead while a worker waits for its own, on a disk that is nearly full, or if the operator wants none', async () => {
  await database.pool.query('update endpoints set workers_max = 0, workers_min = 0');
  await insert(database.pool, 'alone', 0);
  for (const more of [{ disk: { totalBytes: 100e9, freeBytes: 1e9 } }, { isOn: false }]) {
    const { asked, made } = pullerOf(1, more);
    await made.runOnce();
    expect(asked).toEqual([]);
  }
  await insertWorker(database.pool, 'w1', 'PENDING', `{"pullFrom": "${new Date().toISOString()}"}`);
  const { asked, made } = pullerOf(1);
  await made.runOnce();
  expect(asked).toEqual([]);
  await database.pool.query(`update workers set timeline = timeline || '{"pullAt": "2026-11-20T10:02:19Z"}'`);
  await made.runOnce();
  expect(asked).toHaveLength(1);
});

test('workers that never start hold no pull up', async () => {
  await database.pool.query('update endpoints set workers_max = 0, workers_min = 0');
  await database.pool.query('delete from workers');
  await insert(database.pool, 'later', 0);
  const now = new Date().toISOString();
  await insertWorker(database.pool, 'starting', 'STARTING', `{"capacityAt": "${now}"}`);
  await insertWorker(database.pool, 'failed', 'PENDING', `{"pullFrom": "${now}"}`);
  const { asked, made } = pullerOf(1);
  await made.runOnce();
  expect(asked).toEqual([]);
  const longAgo = new Date(Date.now() - 3_700_000).toISOString();
  await database.pool.query(`update workers set timeline = $1 where id = 'starting'`, [{ capacityAt: longAgo }]);
  await made.runOnce();
  expect(asked).toEqual([]);
  await database.pool.query(`update workers set is_lost = true where id = 'failed'`);
  await made.runOnce();
  expect(asked).toHaveLength(1);
});

const insertWorker = (pool: TestDatabase['pool'], id: string, phase: string, timeline: string) =>
  pool.query(
    `insert into workers (id, endpoint_id, endpoint_type, user_id, version, wanted_reason, spec, gpu_count, phase, timeline)
     values ($1, 'alone', 'QUEUE_BASED', 'ann', 1, 'a test', '{}', 1, $2, $3)`,
    [id, phase, timeline],
  );

test('endpoints of one image ask the runtime for it once, and each of their releases is resolved to what its name stands for now', async () => {
  const { pool } = database;
  await pool.query('delete from workers');
  await pool.query('update endpoints set workers_max = 0, workers_min = 0');
  const ids = ['same-1', 'same-2', 'same-3'];
  for (const id of ids) {
    await insert(pool, id, 0);
    await pool.query(`update endpoints set image = 'one:v1' where id = $1`, [id]);
    await pool.query(
      `insert into releases (id, endpoint_id, version, spec, diff) values ('r-' || $1::text, $1, 1, '{}', '[]')`,
      [id],
    );
  }
  const before = `sha256:${'0'.repeat(64)}`;
  await pool.query(
    `update releases set image_digest = $1, image_reference = 'one@' || $1, image_resolved_at = now() where endpoint_id = 'same-1'`,
    [before],
  );
  const runtime = createSimulatedRuntime({ installation: 'i', world: new SimulatedWorld({}) });
  const asked: (string | null)[] = [];
  const prepare = runtime.prepare.bind(runtime);
  runtime.prepare = (image, options) => {
    asked.push(options?.pinned?.digest ?? null);
    return prepare(image, options);
  };
  const releaseImages = new ReleaseImages({ pool, runtime, secretBox: createSecretBox(new Uint8Array(32)) });
  await new ImagePuller({ pool, bus, logger: silentLogger, runtime, releaseImages, isOn: true }).runOnce();
  expect(asked.toSorted()).toEqual([null, before]);
  const { rows } = await pool.query(
    `select endpoint_id as id, image_digest as digest from releases where endpoint_id = any($1) order by 1`,
    [ids],
  );
  const digest = (await releaseImages.find({ endpointId: 'same-2' as EndpointId, version: 1 }))?.digest;
  expect(digest).toMatch(/^sha256:/);
  expect(rows.map((row) => row.digest)).toEqual([before, digest, digest]);
});
