import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { buildRestApp } from '../app.ts';
import type { RestDeps } from '../shared/rest-app.ts';

test('a machine on which the routes are added for a minute still gets its app', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const deps = { bus: { subscribe: () => () => {} } } as unknown as RestDeps;
  const app = buildRestApp(deps, { revision: '2026-07', isWhole: true });
  const ready = Promise.resolve(app.ready()).then(
    () => 'ready',
    (error: unknown) => error,
  );
  await nextTurn(); // the first routes are added
  vi.advanceTimersByTime(60_000);
  expect(await ready).toBe('ready');
});
