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

/** Of the schemas that all revisions share. */
export const ENDPOINT_EXAMPLES: Examples = {
  EndpointState: {
    id: ENDPOINT_ID,
    state: 'FAILING',
    since: '2026-11-20T10:02:09.119Z',
    reason:
      "the last 3 starts failed: it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
  },
  DecisionList: { decisions: [decision] },
};
