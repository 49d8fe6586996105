import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client.ts';
import { absenceText, gpuChoices, hereText, isHere, poolChoices } from './gpu-choices.ts';

const gpu = (id: string, pool: string | null, memory: number, usd: number) =>
  ({ id, name: id, pool, memory, price: { secure: usd, community: usd, serverless: usd } }) as Schemas['GpuType'];
const GPUS = [gpu('A', 'P24', 24, 0.5), gpu('B', 'P24', 24, 0.7), gpu('C', 'P80', 80, 2), gpu('D', null, 8, 0.1)];
const HERE = [
  { id: 'A', name: 'A', pool: 'P24', total: 4, free: 1 },
  { id: 'B', name: 'B', pool: 'P24', total: 2, free: 2 },
];

test('each pool is listed once, with its GPUs, memory and price, and how many are here and free', () => {
  expect(poolChoices(GPUS, HERE)).toEqual([
    {
      value: 'P24',
      label: 'P24',
      details: 'A, B · 24 GB · $0.50 an hour to $0.70 an hour',
      here: { total: 6, free: 3 },
    },
    { value: 'P80', label: 'P80', details: 'C · 80 GB · $2.00 an hour', here: { total: 0, free: 0 } },
  ]);
  expect(poolChoices(GPUS, HERE).map(hereText)).toEqual(['3 of 6 free', 'Not on this installation']);
});

test('a GPU type of a pod has its own count', () => {
  expect(gpuChoices(GPUS, HERE).map((choice) => [choice.value, isHere(choice)])).toEqual([
    ['A', true],
    ['B', true],
    ['C', false],
    ['D', false],
  ]);
});

test('while the server cannot say what is here, everything can be chosen', () => {
  for (const choice of poolChoices(GPUS)) {
    expect(isHere(choice)).toBe(true);
    expect(hereText(choice)).toBe('');
  }
});

test('what is not here is said in words', () => {
  const choices = poolChoices(GPUS, HERE);
  expect(absenceText(choices, ['P24'], 'Workers')).toBeNull();
  expect(absenceText(choices, ['P80'], 'Workers')).toBe(
    'P80: no such GPU is on this installation. Workers will wait until one is added.',
  );
  expect(absenceText(choices, ['P24', 'P80'], 'Workers')).toBe(
    'P80: no such GPU is on this installation. The others are used.',
  );
});
