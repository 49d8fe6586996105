import { expect, test } from 'vitest';
import { decideTrial, type TrialFacts } from './decide-trial.ts';

const OPEN: TrialFacts = { max: 3, isRolloutPaused: false, readyWorkerId: null, failure: null };
const FAILURE = { workerId: 'w1', reason: 'it exited with code 1' };
const FAILED = { state: 'FAILED', ...FAILURE };
const PASSED = { state: 'PASSED', workerId: 'w2', reason: null };

test.each<[string, 'ASKED' | 'FAILED', Partial<TrialFacts>, object | undefined]>([
  ['stays open while no worker is ready and none failed', 'ASKED', {}, undefined],
  ['passes with the first ready worker', 'ASKED', { readyWorkerId: 'w2' }, PASSED],
  ['fails with the first worker that cannot become ready', 'ASKED', { failure: FAILURE }, FAILED],
  ['passes although another worker failed', 'ASKED', { readyWorkerId: 'w2', failure: FAILURE }, PASSED],
  ['is skipped when nothing may run', 'ASKED', { max: 0 }, { state: 'SKIPPED', workerId: null }],
  ['is skipped when the roll-out is paused', 'ASKED', { isRolloutPaused: true }, { state: 'SKIPPED' }],
  ['passes although the roll-out is paused', 'ASKED', { isRolloutPaused: true, readyWorkerId: 'w2' }, PASSED],
  ['that failed stays so', 'FAILED', { failure: FAILURE }, undefined],
  ['that failed is not skipped later', 'FAILED', { max: 0, isRolloutPaused: true }, undefined],
  ['that failed passes when a worker becomes ready after all', 'FAILED', { readyWorkerId: 'w2' }, PASSED],
])('a trial %s', (_, state, facts, end) => {
  const decided = decideTrial(state, { ...OPEN, ...facts });
  if (end === undefined) expect(decided).toBeUndefined();
  else expect(decided).toMatchObject(end);
});
