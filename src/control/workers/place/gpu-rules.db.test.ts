import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 15_000, interval: 20 };
const place = (gpuTypeId: string, cudaVersion: string) => ({
  pool: 'AMPERE_24',
  dataCenterId: 'LOCAL-1',
  total: 1,
  gpuTypeId,
  cudaVersion,
});
let control: ControlLoops;
beforeAll(async () => {
  control = await ControlLoops.start(
    new SimulatedWorld({ pools: [place('NVIDIA L4', '12.4'), place('NVIDIA RTX A5000', '12.8')] }),
  );
});
afterAll(() => control.close());

const one = { gpu: { pools: ['AMPERE_24'], count: 1 }, workers: { min: 1, max: 1 } };
const typeOf = async (endpointId: string) =>
  (await control.sql('select gpu_type_id from workers where endpoint_id = $1', endpointId))[0]?.gpu_type_id;

test('a worker gets no excluded type and no driver that is too old, and says why it waits', async () => {
  const modern = await control.endpoint({ ...one, gpu: { ...one.gpu, minCudaVersion: '12.5' } });
  await vi.waitFor(async () => expect(await typeOf(modern)).toBe('NVIDIA RTX A5000'), soon);
  const newer = await control.endpoint({ ...one, gpu: { ...one.gpu, minCudaVersion: '13.0' } });
  const waits = async (endpointId: typeof newer) => (await control.workers(endpointId))[0]?.reason;
  const noCuda = /no GPU of AMPERE_24 here has CUDA 13\.0 or newer, the driver supports 12\.4 and 12\.8/;
  await vi.waitFor(async () => expect(await waits(newer)).toMatch(noCuda), soon);
  const picky = await control.endpoint({ ...one, gpu: { ...one.gpu, excludedTypes: ['NVIDIA L4'] } });
  await vi.waitFor(async () => expect(await waits(picky)).toMatch(/AMPERE_24 has 0 of 1 free/), soon);
  const any = await control.endpoint(one);
  await vi.waitFor(async () => expect(await typeOf(any)).toBe('NVIDIA L4'), soon);
  expect(await typeOf(picky)).toBeNull();
});
