import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WorkerId } from '../../core/ids.ts';
import { explainAttempt, type WaitedFor } from './explain-job.ts';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);
const iso = (ms: number) => at(ms).toISOString();

const worker = (more: Partial<WaitedFor> = {}): WaitedFor => ({
  id: 'w' as WorkerId,
  createdAt: at(10),
  endedAt: null,
  timeline: { capacityAt: iso(20), pullAt: iso(120), createAt: iso(150), startAt: iso(250), readyAt: iso(400) },
  decision: 'a job waits and there is no worker',
  phaseReason: null,
  failure: null,
  isStoppingJob: false,
  thaw: null,
  ...more,
});
const summary = (stages: ReturnType<typeof explainAttempt>) =>
  stages.map(({ stage, from, to }) => [stage, from.getTime() - at(0).getTime(), to && to.getTime() - at(0).getTime()]);

test('a job that started a worker waited for the decision, for each stage of the start, and for its turn', () => {
  const stages = explainAttempt({ from: at(0), takenAt: at(405), endedAt: at(1000) }, worker());
  expect(summary(stages)).toEqual([
    ['worker', 0, 10],
    ['capacity', 10, 20],
    ['pull', 20, 120],
    ['create', 120, 150],
    ['start', 150, 250],
    ['ready', 250, 400],
    ['queue', 400, 405],
    ['running', 405, 1000],
  ]);
  expect(stages[1]!.reason).toBe('a job waits and there is no worker');
});

test('a job submitted while the worker was loading waited only for the rest of it', () => {
  const stages = explainAttempt({ from: at(300), takenAt: at(402), endedAt: null }, worker());
  expect(summary(stages)).toEqual([
    ['ready', 300, 400],
    ['queue', 400, 402],
    ['running', 402, null],
  ]);
});

test('a job submitted when the worker was ready waited behind others', () => {
  const stages = explainAttempt({ from: at(500), takenAt: at(900), endedAt: null }, worker());
  expect(summary(stages).slice(0, 1)).toEqual([['queue', 500, 900]]);
});

test('a thaw replaces the start', () => {
  const thawed = worker({ thaw: { wantedAt: at(1005), at: at(1020) } });
  expect(summary(explainAttempt({ from: at(1000), takenAt: at(1025), endedAt: at(1100) }, thawed))).toEqual([
    ['worker', 1000, 1005],
    ['thaw', 1005, 1020],
    ['queue', 1020, 1025],
    ['running', 1025, 1100],
  ]);
});

test('a job that no worker takes reports what its worker waits for', () => {
  const throttled = worker({ timeline: {}, phaseReason: 'no capacity: ADA_24 has 0 of 4 free' });
  const stages = explainAttempt({ from: at(0), takenAt: null, endedAt: null }, throttled);
  expect(summary(stages)).toEqual([
    ['worker', 0, 10],
    ['capacity', 10, null],
  ]);
  expect(stages[1]!.reason).toBe('no capacity: ADA_24 has 0 of 4 free');
  expect(summary(explainAttempt({ from: at(0), takenAt: null, endedAt: at(7) }, null))).toEqual([['worker', 0, 7]]);
});

test('for any worker, the stages cover the whole time without gaps', () => {
  const time = fc.integer({ min: 0, max: 2000 });
  fc.assert(
    fc.property(
      time,
      time,
      time,
      fc.array(time, { minLength: 5, maxLength: 5 }),
      fc.boolean(),
      (a, b, c, marks, isThaw) => {
        const [from, takenAt, endedAt] = [a, b, c].sort((x, y) => x - y) as [number, number, number];
        const [capacityAt, pullAt, createAt, startAt, readyAt] = marks.map(iso) as [
          string,
          string,
          string,
          string,
          string,
        ];
        const timeline = { capacityAt, pullAt, createAt, startAt, readyAt };
        const thaw = isThaw ? { wantedAt: at(marks[0]!), at: at(marks[1]!) } : null;
        const wait = { from: at(from), takenAt: at(takenAt), endedAt: at(endedAt) };
        const stages = explainAttempt(wait, worker({ createdAt: at(marks[2]!), timeline, thaw }));
        let last = wait.from;
        for (const stage of stages) {
          expect(stage.from).toEqual(last);
          last = stage.to!;
        }
        expect(last).toEqual(wait.endedAt);
      },
    ),
  );
});

test('an attempt that ended with its worker says why the worker was lost; a worker lost after the job says nothing', () => {
  const lost = worker({ endedAt: at(900), failure: 'it exited with code 1:\nValueError: no model' });
  const reasonOf = (endedAt: Date | null) =>
    explainAttempt({ from: at(300), takenAt: at(402), endedAt }, lost).find(({ stage }) => stage === 'running')!.reason;
  expect(reasonOf(at(901))).toBe('it exited with code 1:\nValueError: no model');
  expect(reasonOf(at(899))).toBeNull();
});

test('a job without any worker says why the last one failed', () => {
  const [waiting] = explainAttempt(
    { from: at(0), takenAt: null, endedAt: null },
    null,
    'the last start failed: bad image',
  );
  expect(waiting).toMatchObject({ stage: 'worker', reason: 'the last start failed: bad image' });
});
