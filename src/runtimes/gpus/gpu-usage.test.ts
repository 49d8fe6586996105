import { expect, test } from 'vitest';
import { parseGpuUsage } from './gpu-usage.ts';

test('GPU usage is read from nvidia-smi for the given GPUs, zeros where it has no figure', () => {
  const text = 'GPU-1, 37, 4096, 16384\nGPU-2, [N/A], 100, 0\n';
  expect(parseGpuUsage(text, ['GPU-2', 'GPU-1', 'GPU-9'])).toEqual([
    { util: 0, memoryUtil: 0 },
    { util: 37, memoryUtil: 25 },
    { util: 0, memoryUtil: 0 },
  ]);
});
