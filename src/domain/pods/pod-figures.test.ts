import { expect, test } from 'vitest';
import { createPodFigures, type PodUsage } from './pod-figures.ts';

const usage: PodUsage = { cpuUtil: 12, memoryUtil: 34, gpus: [] };

function start(answers: (id: string) => Promise<PodUsage | null>) {
  const state = { now: 1_000, asked: [] as string[] };
  const figures = createPodFigures({
    clock: { now: () => state.now },
    readUsage: (id) => {
      state.asked.push(id);
      return answers(id);
    },
  });
  return { figures, state };
}

test('the runtime is asked about a pod once a second, for all clients', async () => {
  const { figures, state } = start(async () => usage);
  const read = async () => (await figures.read(['a', 'b'], 1_000)).get('a');
  expect(await Promise.all([read(), read()])).toEqual([usage, usage]);
  expect(await read()).toEqual(usage);
  expect(state.asked).toEqual(['a', 'b']);
  state.now += 1_000;
  await read();
  expect(state.asked).toEqual(['a', 'b', 'a', 'b']);
  state.now -= 86_400_000; // the clock is set back
  await read();
  expect(state.asked).toHaveLength(6);
});

test('a list does not wait for a slow runtime; a later one has the figures', async () => {
  const slow = Promise.withResolvers<PodUsage>();
  const { figures, state } = start(() => slow.promise);
  expect(await figures.read(['a'], 1)).toEqual(new Map());
  slow.resolve(usage);
  expect(await figures.read(['a'], 10_000)).toEqual(new Map([['a', usage]]));
  expect(state.asked).toEqual(['a']);
});

test('while figures are being read, the previous ones are returned', async () => {
  const looks = [Promise.resolve(usage), new Promise<PodUsage>(() => {})];
  const { figures, state } = start(() => looks.shift()!);
  await figures.read(['a'], 1_000);
  state.now += 5_000;
  expect(await figures.read(['a'], 60_000)).toEqual(new Map([['a', usage]]));
});

test('a pod unknown to the runtime, or a failing runtime, has no figures', async () => {
  const { figures } = start((id) => (id === 'a' ? Promise.resolve(null) : Promise.reject(new Error('no engine'))));
  expect(await figures.read(['a', 'b'], 1_000)).toEqual(new Map());
});

test('of many pods, eight are read at a time, and all eventually', async () => {
  let asking = 0;
  let most = 0;
  const { figures } = start(async () => {
    asking += 1;
    most = Math.max(most, asking);
    await new Promise((resolve) => setImmediate(resolve));
    asking -= 1;
    return usage;
  });
  const ids = Array.from({ length: 50 }, (_, i) => `pod${i}`);
  expect((await figures.read(ids, 60_000)).size).toBe(50);
  expect(most).toBe(8);
});
