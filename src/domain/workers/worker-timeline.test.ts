import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STAGES, type TimelineMarks, workerStages } from './worker-timeline.ts';

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms);
const worker = { createdAt: at(0), endedAt: null };

test('a ready worker has passed all stages, each from the end of the one before', () => {
  const marks = Object.fromEntries(STAGES.map((stage, i) => [`${stage}At`, at((i + 1) * 10).toISOString()]));
  expect(workerStages(worker, marks)).toEqual(
    STAGES.map((stage, i) => ({ stage, from: at(i * 10), to: at((i + 1) * 10) })),
  );
});

test('a worker that waits for capacity is in that stage only', () => {
  expect(workerStages(worker, {})).toEqual([{ stage: 'capacity', from: at(0), to: null }]);
});

test('a stage without a mark is merged into the next', () => {
  const marks = { capacityAt: at(5).toISOString(), startAt: at(30).toISOString() };
  expect(workerStages(worker, marks).map(({ stage, from, to }) => [stage, from, to])).toEqual([
    ['capacity', at(0), at(5)],
    ['start', at(5), at(30)],
    ['ready', at(30), null],
  ]);
});

test('a node of a cluster gets models once the container was created', () => {
  const marks = (times: Record<string, number>) =>
    Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, at(ms).toISOString()]));
  const begun = { modelsFrom: 1, modelsAt: 5, capacityAt: 6, createAt: 7, copyFrom: 7 };
  const stagesOf = (times: Record<string, number>) =>
    workerStages(worker, marks(times)).map(({ stage, to }) => [stage, to]);
  const first = [['models', at(5)], ['capacity', at(6)], ['create', at(7)]]; // biome-ignore format: one thing
  expect(stagesOf(begun)).toEqual([...first, ['models', null]]);
  expect(stagesOf({ ...begun, copyAt: 9, startAt: 10 }).slice(3)).toEqual([
    ['models', at(9)],
    ['start', at(10)],
    ['ready', null],
  ]);
});

test('the end of a worker ends its current stage', () => {
  const stages = workerStages({ createdAt: at(0), endedAt: at(99) }, { capacityAt: at(1).toISOString() });
  expect(stages.at(-1)).toEqual({ stage: 'pull', from: at(1), to: at(99) });
});

test('with any marks, stages follow each other without gaps and never run backwards', () => {
  const mark = fc.option(fc.integer({ min: -50, max: 500 }), { nil: undefined });
  fc.assert(
    fc.property(fc.tuple(mark, mark, mark, mark, mark), (times) => {
      const marks: TimelineMarks = {};
      for (const [i, stage] of STAGES.entries())
        if (times[i] !== undefined) marks[`${stage}At`] = at(times[i]).toISOString();
      const stages = workerStages(worker, marks);
      expect(stages[0]?.from).toEqual(worker.createdAt);
      for (const [i, stage] of stages.entries()) {
        if (stage.to !== null) expect(stage.to.getTime()).toBeGreaterThanOrEqual(stage.from.getTime());
        if (i > 0) expect(stage.from).toEqual(stages[i - 1]!.to);
        if (stage.to === null) expect(i).toBe(stages.length - 1);
      }
    }),
  );
});
