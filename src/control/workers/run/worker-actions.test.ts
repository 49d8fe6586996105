import { beforeEach, describe, expect, test } from 'vitest';
import { BoundedMap } from '../../../core/bounded-map.ts';
import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { type FinalizeDeps, finalizeWorker, stopWorker } from './end-worker.ts';

const worker = (phase: ControlledWorker['phase']) =>
  ({ id: 'w' as WorkerId, endpointId: 'e' as EndpointId, phase }) as ControlledWorker;

/** The effects of the actions, in order. */
let done: string[] = [];
beforeEach(() => {
  done = [];
});

const record = async (step: string) => void done.push(step);
const deps = {
  bus: { publish: (topic: string, id: string) => void done.push(`publish ${topic} ${id}`) },
  logger: silentLogger,
  pool: null as never, // the runtime knows the last output
  runtime: {
    stop: (id: string, graceMs: number) => record(`stop ${id} within ${graceMs} ms`),
    lastOutput: async (id: string) => {
      done.push(`read last output of ${id}`);
      return ['Traceback (most recent call last):', 'ValueError: no model'];
    },
  },
  logs: {
    system: (id: string, line: string) => void done.push(`log ${id}: ${line}`),
    finish: (id: string) => record(`flush log of ${id}`),
  },
  models: { release: async () => {} },
  phases: {
    stopping: ({ id, reason }: { id: string; reason: string }) => record(`order ${id} to stop: ${reason}`),
    exited: ({ id, isLost, reason }: { id: string; isLost: boolean; reason: string }) =>
      record(isLost ? `${id} exited, lost: ${reason}` : `${id} exited`),
  },
  unrecorded: new BoundedMap(9) as FinalizeDeps['unrecorded'],
};

describe('to finalize a worker', () => {
  test('stores its log before its container is removed, and records its exit last', async () => {
    await finalizeWorker(deps, worker('RUNNING'), {
      code: 137,
      cause: 'EXITED' as const,
      reason: 'it ran out of memory',
      isLost: true,
    });
    expect(done).toEqual([
      'log w: ended: it ran out of memory',
      'flush log of w',
      'read last output of w',
      'stop w within 0 ms',
      'w exited, lost: it ran out of memory:\nTraceback (most recent call last):\nValueError: no model',
      'publish worker w',
      'publish key w',
      'publish demand e',
    ]);
  });

  test('asks nothing of the runtime when it never had a container', async () => {
    await finalizeWorker(deps, worker('PENDING'), {
      code: null,
      cause: null,
      reason: 'no job waits any more',
      isLost: false,
    });
    expect(done).toEqual(['w exited', 'publish worker w', 'publish key w', 'publish demand e']);
  });

  test('records no exit while its container cannot be removed', async () => {
    const away = { ...deps, runtime: { ...deps.runtime, stop: () => Promise.reject(new Error('the engine is away')) } };
    const exit = { code: null, cause: 'GONE' as const, reason: 'its container is gone', isLost: true };
    await expect(finalizeWorker(away, worker('RUNNING'), exit)).rejects.toThrow('the engine is away');
    expect(done.filter((step) => step.startsWith('w exited'))).toEqual([]);
  });
});

const OUT_OF_MEMORY = { code: 137, cause: 'EXITED' as const, reason: 'it ran out of memory', isLost: true };
const away = {
  ...deps,
  phases: { ...deps.phases, exited: () => Promise.reject(new Error('the database is away')) },
};

test.each([
  ['ended', () => finalizeWorker(away, worker('RUNNING'), OUT_OF_MEMORY)],
  ['was to be stopped', () => stopWorker(away, worker('RUNNING'), { do: 'stop', graceMs: 5, ...OUT_OF_MEMORY })],
] as const)(
  'a worker that %s while the database was away keeps its reason, although its container is gone',
  async (_, end) => {
    await expect(end()).rejects.toThrow('the database is away');
    done = [];
    const gone = { code: null, cause: 'GONE' as const, reason: 'its container is gone', isLost: true };
    await finalizeWorker(deps, worker('RUNNING'), gone);
    expect(done).toContain(
      'w exited, lost: it ran out of memory:\nTraceback (most recent call last):\nValueError: no model',
    );
    await finalizeWorker(deps, worker('RUNNING'), gone);
    expect(done.at(-4)).toContain('w exited, lost: its container is gone');
  },
);

test('a worker that may still start does not keep the reason of a start that could not be written', async () => {
  await expect(finalizeWorker(away, worker('PENDING'), OUT_OF_MEMORY)).rejects.toThrow('the database is away');
  done = [];
  await finalizeWorker(deps, worker('RUNNING'), { ...OUT_OF_MEMORY, reason: 'it crashed' });
  expect(done).toContain('log w: ended: it crashed');
});

describe('to stop a worker', () => {
  test('orders it to stop first, so that it gets no more work', async () => {
    await stopWorker(deps, worker('RUNNING'), {
      do: 'stop',
      graceMs: 5_000,
      cause: null,
      reason: 'idle',
      isLost: false,
    });
    expect(done).toEqual([
      'order w to stop: idle',
      'log w: stops: idle',
      'stop w within 5000 ms',
      'flush log of w',
      'log w: stopped',
      'w exited',
      'publish worker w',
      'publish key w',
      'publish demand e',
    ]);
  });

  test('that is lost leaves it wanted until its exit is recorded: it must count as a failed start first', async () => {
    await stopWorker(deps, worker('RUNNING'), {
      do: 'stop',
      graceMs: 5_000,
      cause: 'NOT_READY',
      reason: 'not ready',
      isLost: true,
    });
    expect(done).not.toContain('order w to stop: not ready');
    expect(done.indexOf('read last output of w')).toBeLessThan(done.indexOf('stop w within 5000 ms'));
    expect(done).toContain('w exited, lost: not ready:\nTraceback (most recent call last):\nValueError: no model');
  });
});
