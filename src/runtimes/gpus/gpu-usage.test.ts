import { expect, test } from 'vitest';
import { parseGpuUsage, parseUsedMemory } from './gpu-usage.ts';

test('GPU usage is read from nvidia-smi for the given GPUs, zeros where it has no figure', () => {
  const text = 'GPU-1, 37, 4096, 16384\nGPU-2, [N/A], 100, 0\n';
  expect(parseGpuUsage(text, ['GPU-2', 'GPU-1', 'GPU-9'])).toEqual([
    { util: 0, memoryUtil: 0 },
    { util: 37, memoryUtil: 25 },
    { util: 0, memoryUtil: 0 },
  ]);
});

test('used memory is added up; where a GPU does not say, all of it counts', () => {
  const text = 'GPU-1, 0, 1024, 24576\nGPU-2, 0, [N/A], 2048\nGPU-3, 5, 512, 24576\n';
  expect(parseUsedMemory(text, ['GPU-1', 'GPU-2'])).toBe(3072 * 2 ** 20);
  expect(parseUsedMemory(text, ['GPU-9'])).toBe(0);
});
