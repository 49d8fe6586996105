import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GpuLending } from './gpu-lending.ts';

const lendingOf = (devices: Map<string, readonly string[]>) =>
  new GpuLending({ devicesOf: async () => devices, pidsOf: async () => [], simulated: null });

test('a workload gets its GPUs back when nobody has them, and learns who does', async () => {
  const devices = new Map([['a', ['GPU-1', 'GPU-2']]]);
  const lending = lendingOf(devices);
  await lending.release('a');
  expect(lending.isLent('a')).toBe(true);
  devices.set('b', ['GPU-2']).set('c', ['GPU-3']);
  expect(await lending.claim('a')).toEqual(['b']);
  expect(lending.isLent('a')).toBe(true);
  await lending.release('b');
  expect(await lending.claim('a')).toEqual([]);
  expect(lending.isLent('a')).toBe(false);
  expect(await lending.claim('b')).toEqual(['a']);
  devices.delete('a');
  lending.forget('a');
  expect(await lending.claim('b')).toEqual([]);
});

test('whatever is released, claimed and ended, no GPU has two holders', async () => {
  const command = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    do: fc.constantFrom('release', 'claim', 'end'),
  });
  const gpus = fc.subarray(['GPU-1', 'GPU-2', 'GPU-3'], { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(gpus, { minLength: 4, maxLength: 4 }), fc.array(command), async (of, commands) => {
      const devices = new Map(['a', 'b', 'c', 'd'].map((id, i) => [id, of[i]!] as const));
      const lending = lendingOf(devices);
      for (const id of devices.keys()) await lending.release(id);
      const claims: Promise<unknown>[] = [];
      for (const { id, do: action } of commands) {
        if (action === 'end') lending.forget(id);
        if (action === 'end') devices.delete(id);
        else claims.push(lending[action](id)); // at the same time
        if (claims.length % 3 === 0) await Promise.all(claims);
        const held = [...devices].flatMap(([each, uuids]) => (lending.isLent(each) ? [] : uuids));
        expect(new Set(held).size).toBe(held.length);
      }
      await Promise.all(claims);
    }),
  );
});

test('with simulated GPUs there is nothing to checkpoint', async () => {
  const deps = { devicesOf: async () => new Map(), pidsOf: async () => [], simulated: 'the GPUs are simulated' };
  expect(await new GpuLending(deps).checkpointHindrance()).toBe('the GPUs are simulated');
});
