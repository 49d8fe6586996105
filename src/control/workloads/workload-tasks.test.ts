import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { markReported } from '../../core/errors.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import { WorkloadTasks } from './workload-tasks.ts';

let tasks: WorkloadTasks;
const ended: string[] = [];
const logged: { fields: Record<string, unknown>; text: string }[] = [];
const logger = {
  ...silentLogger,
  error: (fields: object, text?: string) => logged.push({ fields: { ...fields }, text: text! }),
} as Logger;

beforeEach(() => {
  vi.useFakeTimers();
  ended.length = 0;
  logged.length = 0;
  tasks = new WorkloadTasks({ logger, onEnd: (id) => ended.push(id) });
});
afterEach(() => vi.useRealTimers());

const fail = async () => {
  throw new Error('connect ECONNREFUSED');
};
/** Runs a task of the workload and returns how long it stays busy. */
async function busyMs(id: string, work: () => Promise<void>): Promise<number> {
  tasks.run(id, 'stop', work);
  let ms = 0;
  for (; tasks.isBusy(id) && ms < 60_000; ms += 50) await vi.advanceTimersByTimeAsync(50);
  return ms;
}

test('a workload whose tasks fail pauses longer each time; a success ends that', async () => {
  const pauses: number[] = [];
  for (let n = 0; n < 8; n++) pauses.push(await busyMs('a', fail));
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(await busyMs('a', async () => {})).toBeLessThanOrEqual(50);
  expect(await busyMs('a', fail)).toBe(250);
});

test('a success of one workload ends the pauses of the others: what was away is back', async () => {
  for (let n = 0; n < 6; n++) await busyMs('a', fail);
  tasks.run('a', 'stop', fail);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(tasks.isBusy('a')).toBe(true);
  tasks.run('b', 'stop', async () => {});
  await vi.advanceTimersByTimeAsync(0);
  expect([tasks.isBusy('a'), ended.slice(-2).sort()]).toEqual([false, ['a', 'b']]);
});

test('the return of the runtime ends all pauses, and the next failure has a short one again', async () => {
  for (let n = 0; n < 6; n++) await Promise.all([busyMs('a', fail), busyMs('b', fail)]);
  for (const id of ['a', 'b']) tasks.run(id, 'stop', fail);
  await vi.advanceTimersByTimeAsync(1_000);
  tasks.retry();
  await vi.advanceTimersByTimeAsync(0);
  expect([tasks.isBusy('a'), tasks.isBusy('b')]).toEqual([false, false]);
  expect(await busyMs('a', fail)).toBe(250);
});

test('a pause does not hold up the end', async () => {
  for (let n = 0; n < 6; n++) await busyMs('a', fail);
  tasks.run('a', 'stop', fail);
  await vi.advanceTimersByTimeAsync(1_000);
  await tasks.settle();
  expect(tasks.isBusy('a')).toBe(false);
});

test('after a failure that its source reports the pause stays short, and nothing is logged here', async () => {
  const reported = async () => {
    const error = new Error('the database does not answer');
    markReported(error);
    throw error;
  };
  const pauses: number[] = [];
  for (let n = 0; n < 5; n++) pauses.push(await busyMs('a', reported));
  expect(pauses).toEqual([250, 500, 1_000, 1_000, 1_000]);
  expect(logged).toEqual([]);
});

test('the same failure is logged once a minute, with how often it was repeated', async () => {
  for (let n = 0; n < 20; n++) await Promise.all([busyMs('a', fail), busyMs('b', fail)]);
  expect(logged.length).toBeGreaterThanOrEqual(2);
  expect(logged.length).toBeLessThanOrEqual(5); // in about 155 s
  expect(logged[0]).toMatchObject({ text: 'stop failed: connect ECONNREFUSED' });
  expect(logged[1]!.fields.repeated).toBeGreaterThan(10);
});

test('of rows that were begun to be read at a mark, those of workloads whose task has ended since are left out', async () => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  tasks.run('before', 'start', async () => {});
  await vi.advanceTimersByTimeAsync(0);
  const mark = tasks.mark();
  tasks.run('since', 'start', async () => {});
  tasks.run('busy', 'start', () => isOver);
  await vi.advanceTimersByTimeAsync(0);
  const rows = ['before', 'since', 'busy', 'idle'].map((id) => ({ id }));
  expect(tasks.upToDate(rows, mark).map(({ id }) => id)).toEqual(['before', 'busy', 'idle']);
  end();
});
