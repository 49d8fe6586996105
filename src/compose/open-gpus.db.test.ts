import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { readConfig } from '../config/config.ts';
import { silentLogger } from '../core/logger.ts';
import { ensureSimulation } from '../domain/simulation/simulation.ts';
import type { Gpu, GpuReading, GpuSource } from '../runtimes/gpus/gpu.ts';
import { openGpus } from './open-gpus.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query("delete from settings where key in ('gpus', 'simulation')"));

const GPU: Gpu = {
  uuid: 'GPU-1',
  busId: '0000:01:00.0',
  gpuTypeId: 'NVIDIA L4',
  pool: 'AMPERE_24',
  vendor: 'NVIDIA',
  memoryMib: 23_034,
  cudaVersion: '12.4',
  shares: 1,
  devicePaths: [],
};
const FOUND: GpuReading = { state: 'read', gpus: [GPU], faulty: [] };
const BROKEN: GpuReading = { state: 'unreadable', problem: 'the driver is not loaded', advice: 'Load it' };
const ABSENT: GpuReading = { state: 'absent' };

const source = (reading: GpuReading): GpuSource => ({ name: 'test', read: async () => reading });
const opened = (flags: object, [first, ...others]: [GpuReading, ...GpuReading[]], wasThisRuntime = false) =>
  openGpus({ config: readConfig(flags, {}), pool: database.pool, logger: silentLogger, wasThisRuntime }, [
    source(first),
    ...others.map(source),
  ]);

test('GPUs are simulated by default only where no place has any, and no device file of a driver', async () => {
  expect((await opened({}, [ABSENT, ABSENT])).inventory).toBeNull();
  expect((await opened({}, [ABSENT, FOUND])).inventory!.usable()).toEqual([GPU]);
  expect((await opened({}, [FOUND])).inventory!.usable()).toEqual([GPU]);
});

test('`off` never simulates; a list always does, and warns beside real GPUs', async () => {
  expect((await opened({ simulateGpus: 'off' }, [ABSENT])).inventory!.usable()).toEqual([]);
  expect(await opened({ simulateGpus: 'ADA_24:1' }, [FOUND])).toEqual({
    inventory: null,
    notices: [expect.stringContaining('this machine has GPUs, but --simulate-gpus simulates others')],
  });
});

test('GPUs that cannot be read end the start with what to do, in every place and with `off`', async () => {
  const text =
    'The GPUs cannot be read: the driver is not loaded. Load it. To do without them: --simulate-gpus ADA_24:4';
  await expect(opened({}, [BROKEN])).rejects.toThrow(text);
  await expect(opened({}, [ABSENT, BROKEN])).rejects.toThrow(text);
  await expect(opened({ simulateGpus: 'off' }, [BROKEN])).rejects.toThrow(text);
});

test('a server that had GPUs starts without them while they cannot be read, and says so', async () => {
  await opened({}, [FOUND]);
  const { inventory, notices } = await opened({}, [BROKEN], true);
  expect(inventory!.usable()).toEqual([]);
  expect(notices).toEqual(['WARNING: The GPUs cannot be read: the driver is not loaded. Load it']);
  await expect(opened({}, [BROKEN], false)).rejects.toThrow(); // the record is of another runtime
});

test('a process without the control role takes what the one that starts workers has read', async () => {
  await opened({}, [FOUND]);
  expect((await opened({ roles: 'api' }, [BROKEN])).inventory!.usable()).toEqual([GPU]);
  await ensureSimulation(database.pool, []); // that one simulates GPUs now
  expect((await opened({ roles: 'api' }, [BROKEN])).inventory).toBeNull();
  await expect(opened({}, [BROKEN], true)).rejects.toThrow();
});

test('shared GPUs, lost ones and a driver that finds none are notices', async () => {
  expect((await opened({ shareGpus: '4' }, [FOUND])).notices).toEqual([
    'Each GPU is given to 4 workers at once: shared, not isolated (--share-gpus)',
  ]);
  const lost = { uuid: null, busId: '0000:02:00.0', fault: 'GPU is lost' };
  expect((await opened({}, [{ ...FOUND, faulty: [lost] }])).notices).toEqual([
    'WARNING: GPU 0000:02:00.0 does not answer: GPU is lost',
  ]);
  expect((await opened({}, [{ state: 'read', gpus: [], faulty: [] }])).notices[0]).toMatch(/finds none: with MIG/);
});
