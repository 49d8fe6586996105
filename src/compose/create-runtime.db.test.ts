import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { readConfig } from '../config/config.ts';
import { silentLogger } from '../core/logger.ts';
import type { Bus } from '../db/bus.ts';
import { findSimulation } from '../domain/simulation/simulation.ts';
import { checkEngine, createRuntime } from './create-runtime.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

let latestNotices: string[] = [];
const create = async (flags: object) => {
  const bus = { subscribe: () => () => {} } as unknown as Bus;
  const installation = { id: 'i', workerApiPort: 20_000 };
  const config = readConfig({ runtime: 'simulated', ...flags }, {});
  const { runtime, notices } = await createRuntime(config, installation, {
    pool: database.pool,
    bus,
    logger: silentLogger,
    engine: checkEngine(config, silentLogger),
  });
  const { gpus } = await runtime.capacity();
  await runtime.close();
  latestNotices = notices;
  return gpus.map(({ pool, total }) => `${pool}:${total}`);
};

test('a process that only serves clients follows the simulation of the one that starts workers', async () => {
  expect(await create({ simulateGpus: 'ADA_48_PRO:9' })).toEqual(['ADA_48_PRO:9']);
  expect(await create({ roles: 'api' })).toEqual(['ADA_48_PRO:9']);
  expect((await findSimulation(database.pool))!.gpus).toMatchObject([{ pool: 'ADA_48_PRO', total: 9 }]);
});

test('the process that starts workers sets what is simulated', async () => {
  expect(await create({ simulateGpus: 'ADA_24:1' })).toEqual(['ADA_24:1']);
});

test('a pool that the catalog does not have is noticed at the start, with the one that was probably meant', async () => {
  await create({ simulateGpus: 'ADA24:1,ADA_24:1' });
  expect(latestNotices).toContain(
    "--simulate-gpus names 'ADA24', which is no GPU pool of the catalog, where 'ADA_24' may be meant: no endpoint can use it",
  );
  await create({ simulateGpus: 'ADA_24:1' });
  expect(latestNotices.join()).not.toContain('catalog');
});
