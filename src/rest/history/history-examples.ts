import type { Examples } from '../shared/example-values.ts';

export const HISTORY_EXAMPLES: Examples = {
  History: {
    range: '1h',
    from: '2026-11-20T09:30:00.000Z',
    until: '2026-11-20T10:30:00.000Z',
    stepSeconds: 60,
    points: [
      {
        at: '2026-11-20T10:02:00.000Z',
        queued: 3,
        inProgress: 2,
        jobs: { completed: 41, failed: 1, cancelled: 0, timedOut: 0, retried: 0 },
        waitMs: { p50: 12.5, p95: 850.2, p99: 2310.9 },
        executionMs: { p50: 1204.4, p95: 1890.1, p99: 2411.7 },
        requests: { '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 },
        latencyMs: null,
        coldStarts: 1,
        workersEnded: 2,
        workersLost: 1,
        coldStartMs: { p50: 2295, p95: 2295, p99: 2295 },
        workers: { running: 2, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, frozen: 0 },
        gpuSeconds: 109.5,
        cost: 0.0207,
      },
    ],
  },
};
