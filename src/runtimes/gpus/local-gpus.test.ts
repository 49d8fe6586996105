import { afterEach, expect, test } from 'vitest';
import { GpuMachine, type StandInMachine, standInGpu } from '../../../test/stand-ins/gpu-machine.ts';
import { LocalGpus, type LocalGpusOptions } from './local-gpus.ts';

const machines: GpuMachine[] = [];
afterEach(() => {
  for (const machine of machines.splice(0)) machine.remove();
});

function read(machine: StandInMachine, { shares = 1, deviceFiles = [] as string[] } = {}) {
  const made = new GpuMachine(machine.cards ? 'rocm-smi' : 'nvidia-smi', machine);
  machines.push(made);
  return readBothWays({ shares, path: made.path, procGpus: made.procGpus, deviceFiles });
}

/** With a shell, and without one, as in Podyard's own image. */
async function readBothWays(options: LocalGpusOptions) {
  const [reading, other] = await Promise.all(
    [true, false].map((hasShell) => new LocalGpus({ ...options, hasShell }).read()),
  );
  expect(other).toEqual(reading);
  return reading!;
}
const [one, two] = [standInGpu(1), standInGpu(2)];

test('NVIDIA GPUs are read with their type, pool, memory and the CUDA version of their driver', async () => {
  expect(await read({ gpus: [one, standInGpu(2, { name: 'NVIDIA X9' })] })).toEqual({
    state: 'read',
    faulty: [],
    gpus: [
      {
        uuid: one.uuid,
        busId: '0000:01:00.0',
        gpuTypeId: 'NVIDIA GeForce RTX 4090',
        pool: 'ADA_24',
        vendor: 'NVIDIA',
        memoryMib: 24_564,
        cudaVersion: '12.4',
        shares: 1,
        devicePaths: [],
      },
      expect.objectContaining({ uuid: two.uuid, gpuTypeId: 'NVIDIA X9', pool: 'NVIDIA X9' }),
    ],
  });
});

test('without libcuda the CUDA version is unknown', async () => {
  expect(await read({ gpus: [one], cuda: null })).toMatchObject({ gpus: [{ cudaVersion: null }] });
});

test('a GPU with MIG is its slices, in pools of their own; without slices it is nothing', async () => {
  const slice = (n: number, profile: string) => ({ uuid: `MIG-00000000-0000-0000-0000-00000000000${n}`, profile });
  const a100 = { name: 'NVIDIA A100-SXM4-80GB', memoryMib: 81_920 };
  const reading = await read({
    gpus: [
      standInGpu(1, { ...a100, mig: [slice(1, '1g.10gb'), slice(2, '3g.40gb')] }),
      standInGpu(2, { ...a100, mig: null }),
      standInGpu(3, { ...a100, mig: [] }),
    ],
  });
  expect(reading).toMatchObject({
    gpus: [
      {
        uuid: slice(1, '').uuid,
        gpuTypeId: 'NVIDIA A100-SXM4-80GB MIG 1g.10gb',
        pool: 'AMPERE_80_MIG_1G_10GB',
        memoryMib: 10_240,
      },
      {
        uuid: slice(2, '').uuid,
        gpuTypeId: 'NVIDIA A100-SXM4-80GB MIG 3g.40gb',
        pool: 'AMPERE_80_MIG_3G_40GB',
        memoryMib: 40_960,
      },
      { uuid: two.uuid, gpuTypeId: 'NVIDIA A100-SXM4-80GB', pool: 'AMPERE_80' },
    ],
  });
});

test('shared GPUs are a type and a pool of their own', async () => {
  expect(await read({ gpus: [one] }, { shares: 4 })).toMatchObject({
    gpus: [{ gpuTypeId: 'NVIDIA GeForce RTX 4090 SHARED-4', pool: 'ADA_24_SHARED_4', shares: 4 }],
  });
});

test('a lost GPU is named, and hides none of the others, their slices or the driver', async () => {
  const mig = [{ uuid: 'MIG-00000000-0000-0000-0000-000000000001', profile: '1g.10gb' }];
  const lost = { lost: 'GPU is lost.  Reboot the system to recover this GPU' };
  const reading = await read({
    gpus: [standInGpu(1, lost), two, standInGpu(3, { name: 'NVIDIA A100 80GB PCIe', mig })],
  });
  expect(reading).toMatchObject({
    state: 'read',
    faulty: [{ uuid: null, busId: '0000:01:00.0', fault: 'GPU is lost' }],
    gpus: [{ uuid: two.uuid, cudaVersion: '12.4' }, { uuid: mig[0]!.uuid }],
  });
});

test('a GPU that requires a reset is named with its UUID', async () => {
  expect(await read({ gpus: [standInGpu(1, { needsReset: true }), two] })).toMatchObject({
    faulty: [{ uuid: one.uuid, fault: 'GPU requires reset' }],
    gpus: [{ uuid: two.uuid }],
  });
});

test.each([
  ['no driver', /^NVIDIA-SMI has failed .* driver/, /^Load the driver \(modprobe nvidia\)/],
  ['mismatch', /Driver\/library version mismatch$/, /restart the machine/],
] as const)(
  'a tool that fails (%s) is an error with what to do, never an absent GPU',
  async (state, problem, advice) => {
    const reading = await read({ state, gpus: [one] });
    expect(reading).toEqual({
      state: 'unreadable',
      problem: expect.stringMatching(problem),
      advice: expect.stringMatching(advice),
    });
  },
);

test('a machine without GPUs has none; with the driver’s device files it has lost them all', async () => {
  expect(await read({ state: 'no devices' })).toEqual({ state: 'absent' });
  expect(await read({ state: 'no devices' }, { deviceFiles: ['/dev/null'] })).toEqual({
    state: 'read',
    gpus: [],
    faulty: [],
  });
});

test('without nvidia-smi a machine has no GPUs, unless a device file of the driver says otherwise', async () => {
  const path = '/usr/bin:/bin';
  expect(await readBothWays({ shares: 1, path, deviceFiles: [] })).toEqual({ state: 'absent' });
  expect(await readBothWays({ shares: 1, path, deviceFiles: ['/dev/null'] })).toMatchObject({
    state: 'unreadable',
    problem: 'there is /dev/null, but no nvidia-smi',
  });
});

test('AMD GPUs are read with the UUID that ROCm takes; graphics in a processor are left out', async () => {
  const card = { series: 'AMD Instinct MI300X', bytes: 192 * 2 ** 30, bus: '0000:C1:00.0' };
  const cards = [
    { ...card, uniqueId: '0xdc91284879207f2b' },
    { ...card, uniqueId: 'N/A', series: 'Radeon 780M' },
  ];
  expect(await read({ cards })).toMatchObject({
    state: 'read',
    gpus: [{ uuid: 'GPU-dc91284879207f2b', gpuTypeId: 'AMD Instinct MI300X OAM', vendor: 'AMD', memoryMib: 196_608 }],
  });
  expect(await read({ cards: [{ ...card, uniqueId: 'N/A' }] })).toEqual({ state: 'absent' });
  expect(await read({ cards, state: 'no driver' })).toMatchObject({
    state: 'unreadable',
    problem: expect.stringContaining('Driver not initialized'),
  });
});
