import { ENDPOINT_ID, type Examples } from '../shared/example-values.ts';

const decision = {
  at: '2026-11-20T10:02:09.119Z',
  wanted: 1,
  reason: 'a job waits and there is no worker',
  inputs: {
    version: 2,
    min: 0,
    max: 3,
    scaler: { type: 'QUEUE_DELAY', value: 4 },
    queued: 1,
    queuedLowPriority: 0,
    inProgress: 0,
    oldestWaitMs: 3,
    workers: { pending: 0, starting: 0, idle: 0, busy: 0, leaving: 0, frozen: 0 },
    outdated: 0,
    failedStarts: 0,
  },
  actions: [
    { kind: 'start', workerId: 'w9h3s6d1f8g2jk', cause: 'DEMAND', reason: 'a job waits and there is no worker' },
  ],
};

const figures = {
  id: ENDPOINT_ID,
  state: 'HEALTHY',
  since: null,
  reason: null,
  warnings: [],
  workers: 2,
  waiting: 0,
  running: 1,
  requests: 1842,
  failed: 3,
  requestsPerSecond: 0.5116666666666667,
  latencyP95Ms: 1204.4,
  costToday: 1.8312,
};

/** Of the schemas that all revisions share. */
export const ENDPOINT_EXAMPLES: Examples = {
  EndpointState: {
    id: ENDPOINT_ID,
    state: 'FAILING',
    since: '2026-11-20T10:02:09.119Z',
    reason:
      "the last 3 starts failed: it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
    warnings: [],
  },
  EndpointFigures: figures,
  EndpointFiguresList: {
    figures: [
      { ...figures, series: { stepSeconds: 120, requests: [0, 61, 64], latencyP95Ms: [null, 1180.2, 1211.9] } },
    ],
  },
  DecisionList: { decisions: [decision] },
};
