import { expect, test } from 'vitest';
import type { Schemas } from '../api/client.ts';
import { gpuOptions, poolOptions, recordOptions, volumeOptions } from './select-options.ts';

const gpu = (values: Partial<Schemas['GpuType']>) =>
  ({ id: 'g', name: 'G', memory: 24, ...values }) as Schemas['GpuType'];

test('no options while the records load', () => {
  for (const options of [recordOptions, volumeOptions, gpuOptions, poolOptions]) expect(options(undefined)).toEqual([]);
});

test('a record is shown by its name and chosen by its id', () => {
  expect(recordOptions([{ id: 'r1', name: 'mine' }])).toEqual([{ value: 'r1', label: 'mine' }]);
});

test('a volume names its data center', () => {
  const volume = { id: 'v1', name: 'models', dataCenter: 'LOCAL-1' } as Schemas['NetworkVolume'];
  expect(volumeOptions([volume])).toEqual([{ value: 'v1', label: 'models (LOCAL-1)' }]);
});

test('a GPU type says what is available', () => {
  const options = gpuOptions([gpu({ availability: 'HIGH' }), gpu({ availability: 'NONE' }), gpu({})]);
  expect(options.map(({ label }) => label)).toEqual(['G · High availability', 'G · Unavailable', 'G · Unavailable']);
});

test('each pool is listed once, with the availability of a type that has any', () => {
  const options = poolOptions([
    gpu({ pool: 'ADA_24', availability: 'NONE' }),
    gpu({ pool: 'ADA_24', availability: 'LOW' }),
    gpu({ pool: 'ADA_24', availability: 'NONE' }),
    gpu({ pool: 'AMPERE_80', memory: 80, availability: 'NONE' }),
    gpu({ pool: null, availability: 'HIGH' }),
  ]);
  expect(options).toEqual([
    { value: 'ADA_24', label: 'ADA_24 (24 GB) · Low availability' },
    { value: 'AMPERE_80', label: 'AMPERE_80 (80 GB)' },
  ]);
});
