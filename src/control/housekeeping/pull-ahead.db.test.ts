import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
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
  puller = new ImagePuller({ pool: database.pool, bus, logger: silentLogger, runtime, releaseImages });
  puller.start();
});
afterAll(async () => {
  await puller.stop();
  await database.drop();
});

async function endpoint(id: string, image: string, max: number): Promise<EndpointId> {
  await database.pool.query(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, gpu_pools, gpu_count, workers_min,
       workers_max, scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     values ($1, 'ann', $1, 'QUEUE_BASED', $2, '', 1, '{}', '{}', '{ADA_24}', 1, 0, $3, 'QUEUE_DELAY', 4, 5, '{}', '{}', 0, 'OFF', 1)`,
    [id, image, max],
  );
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
  const ending = new ImagePuller({ pool, bus, logger: silentLogger, runtime, releaseImages });
  ending.start();
  await expect.poll(() => reads).toBe(1);
  await ending.stop();
  expect(reads).toBe(0);
});
