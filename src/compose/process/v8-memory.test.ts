import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { CONTROL_ALONE, findCollector, IdleCompactor, NO_PRETENURING, SERVING } from './v8-memory.ts';

const MB = 2 ** 20;

/** A process whose heap a collection halves. */
function createProcess(heapMb: number, bounds = SERVING) {
  const state = { utilization: 0, heap: heapMb * MB, collections: 0 };
  const deps = {
    readUtilization: () => state.utilization,
    readHeapBytes: () => state.heap,
    collect: () => {
      state.collections += 1;
      state.heap /= 2;
    },
  };
  const compactor = new IdleCompactor(deps, bounds);
  return { state, compactor };
}

test('an idle process compacts its heap once, and again after it has grown', () => {
  const { state, compactor } = createProcess(70);
  for (let i = 0; i < 3; i++) compactor.runOnce();
  expect(state.collections).toBe(1);
  state.heap = 50 * MB; // 15 more than after the collection
  compactor.runOnce();
  expect(state.collections).toBe(1);
  state.heap = 52 * MB;
  compactor.runOnce();
  expect(state.collections).toBe(2);
});

test.each([
  ['works', { utilization: 0.03, heap: 70 * MB }],
  ['has a large heap, whose collection would take long,', { utilization: 0, heap: 200 * MB }],
])('a process that %s is left alone', (_, given) => {
  const { state, compactor } = createProcess(70);
  Object.assign(state, given);
  compactor.runOnce();
  expect(state.collections).toBe(0);
});

test('control alone compacts a large heap after a burst, although it is never quite idle', () => {
  const { state, compactor } = createProcess(175, CONTROL_ALONE);
  state.utilization = 0.2; // starts workers
  compactor.runOnce();
  expect(state.collections).toBe(0);
  state.utilization = 0.08;
  for (let i = 0; i < 3; i++) compactor.runOnce();
  expect(state.collections).toBe(1);
  state.heap += 60 * MB; // what changes leave until V8 collects it
  compactor.runOnce();
  expect(state.collections).toBe(1);
});

test('this version of Node.js gives its collector, and the collection frees what is unused', () => {
  const collect = findCollector();
  const garbage = new WeakRef({ large: new Array(1e6).fill(0) });
  return new Promise<void>((resolve) => {
    setImmediate(() => {
      collect!();
      expect(garbage.deref()).toBeUndefined();
      resolve();
    });
  });
});

test('this Node.js knows the option that allocates requests in the young generation', () => {
  const { status, stderr } = spawnSync(process.execPath, [NO_PRETENURING, '--eval', '']);
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' });
});
