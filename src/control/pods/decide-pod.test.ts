import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decidePod, type PodContainer, type PodFacts } from './decide-pod.ts';

const RUNNING: PodFacts = { wanted: 'RUN', revision: 3, phase: 'RUNNING', phaseRevision: 3, notBefore: null };
const decide = (change: Partial<PodFacts>, container: PodContainer, now = 1_000) =>
  decidePod({ ...RUNNING, ...change }, container, now);
const nothing = { do: 'nothing' };

describe('a pod that is wanted to run', () => {
  test('and runs is adopted', () => {
    expect(decide({}, 'running')).toEqual({ do: 'adopt' });
    expect(decide({ phase: 'STARTING' }, 'running')).toEqual({ do: 'adopt' });
  });

  test('and whose container is gone or has ended is finalized', () => {
    for (const container of ['absent', 'exited', 'created'] as const) {
      expect(decide({}, container)).toEqual({ do: 'finalize' });
    }
  });

  test('in another revision is started, whatever is there', () => {
    for (const phase of ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR'] as const) {
      expect(decide({ phase, revision: 4 }, 'unknown')).toEqual({ do: 'start' });
    }
  });

  test('and whose start was interrupted is started again once it is known that no container came of it', () => {
    for (const phase of ['PROVISIONING', 'STARTING'] as const) {
      expect(decide({ phase }, 'unknown')).toEqual(nothing);
      expect(decide({ phase }, 'absent')).toEqual({ do: 'start' });
      expect(decide({ phase }, 'created')).toEqual({ do: 'start' });
    }
  });

  test('waits for the end of its pause', () => {
    const facts = { phase: 'STARTING', notBefore: new Date(5_000) } as const;
    expect(decide(facts, 'absent', 4_999)).toEqual({ do: 'wait', untilMs: 5_000 });
    expect(decide(facts, 'absent', 5_000)).toEqual({ do: 'start' });
  });

  test('and could not be started waits for a user to start it', () => {
    expect(decide({ phase: 'ERROR' }, 'absent')).toEqual(nothing);
  });
});

test('a pod that is wanted to stop is stopped until nothing of it is left', () => {
  expect(decide({ wanted: 'STOP' }, 'running')).toEqual({ do: 'stop' });
  expect(decide({ wanted: 'STOP', phase: 'ERROR' }, 'absent')).toEqual({ do: 'stop' });
  expect(decide({ wanted: 'STOP', phase: 'EXITED' }, 'exited')).toEqual({ do: 'stop' });
  expect(decide({ wanted: 'STOP', phase: 'EXITED' }, 'absent')).toEqual(nothing);
  expect(decide({ wanted: 'STOP', phase: 'EXITED', phaseRevision: 2 }, 'absent')).toEqual(nothing);
});

test('whatever the facts, only a pod that is wanted to run is started, and a terminated one is removed', () => {
  const facts = fc.record({
    wanted: fc.constantFrom('RUN', 'STOP', 'TERMINATE'),
    revision: fc.integer({ min: 1, max: 3 }),
    phase: fc.constantFrom('PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR'),
    phaseRevision: fc.integer({ min: 0, max: 3 }),
    notBefore: fc.option(fc.integer({ min: 0, max: 10 }).map((ms) => new Date(ms))),
  });
  const containers = fc.constantFrom('created', 'running', 'frozen', 'exited', 'absent', 'unknown');
  fc.assert(
    fc.property(facts, containers, fc.integer({ min: 0, max: 10 }), (pod, container, now) => {
      const decision = decidePod(pod as PodFacts, container as PodContainer, now);
      if (decision.do === 'start') expect(pod.wanted).toBe('RUN');
      expect(decision.do === 'terminate').toBe(pod.wanted === 'TERMINATE');
    }),
  );
});
