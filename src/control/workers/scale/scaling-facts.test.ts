import { describe, expect, test } from 'vitest';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { ScalingFacts } from './scaling-facts.ts';

const facts = (change: Partial<ControlledWorker>) =>
  new ScalingFacts().toWorker(
    { id: 'w', phase: 'RUNNING', readyAt: new Date(1), leased: 0, stopping: 0, ...change } as ControlledWorker,
    10_000,
    10_000,
  );

describe('a worker that was told to stop a job', () => {
  const told = { leased: 1, stopping: 1 };

  test('is busy, and keeps its place when it leaves for another reason', () => {
    expect(facts({ ...told, wanted: 'RUN' })).toMatchObject({ state: 'ready', ...told });
    expect(facts({ ...told, wanted: 'DRAIN' })).toMatchObject({ state: 'leaving', ...told });
  });

  test('keeps no place for that job once it is being ended, only for its others', () => {
    expect(facts({ ...told, wanted: 'STOP' })).toMatchObject({ state: 'leaving', leased: 0, stopping: 0 });
    expect(facts({ leased: 3, stopping: 1, wanted: 'STOP' })).toMatchObject({ leased: 2, stopping: 0 });
  });
});
