import { CONTAINER_EXAMPLE, type Examples } from '../shared/example-values.ts';

const worker = {
  id: 'w9h3s6d1f8g2jk',
  status: 'RUNNING',
  isStale: false,
  version: 2,
  image: CONTAINER_EXAMPLE.image,
  gpuCount: 1,
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  dataCenterId: 'LOCAL-1',
  uptimeSeconds: 412,
  startedAt: '2026-11-20T10:02:11.000Z',
  reason: null,
};

const workerDetail = {
  ...worker,
  cpu: null,
  decision: 'a job waits and there is no worker',
  createdAt: '2026-11-20T10:02:09.120Z',
  frozenAt: null,
  frozenMemoryBytes: null,
  endedAt: null,
  exitCode: null,
  timeline: [
    { stage: 'capacity', from: '2026-11-20T10:02:09.120Z', to: '2026-11-20T10:02:09.131Z', ms: 11 },
    { stage: 'pull', from: '2026-11-20T10:02:09.131Z', to: '2026-11-20T10:02:10.702Z', ms: 1571 },
    { stage: 'create', from: '2026-11-20T10:02:10.702Z', to: '2026-11-20T10:02:10.761Z', ms: 59 },
    { stage: 'start', from: '2026-11-20T10:02:10.761Z', to: '2026-11-20T10:02:11.000Z', ms: 239 },
    { stage: 'ready', from: '2026-11-20T10:02:11.000Z', to: '2026-11-20T10:02:11.415Z', ms: 415 },
  ],
};

export const WORKER_EXAMPLES: Examples = {
  Worker: worker,
  WorkerList: {
    workers: [worker],
    summary: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 1 },
    endpointVersion: 2,
  },
  WorkerDetail: workerDetail,
  WorkerStart: {
    workerId: worker.id,
    version: 2,
    createdAt: workerDetail.createdAt,
    ready: true,
    failed: false,
    timeline: workerDetail.timeline,
  },
  EndedWorker: {
    ...worker,
    id: 'w2k8f4h6d0s3ja',
    status: 'EXITED',
    uptimeSeconds: 3,
    reason: "it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
    lost: true,
    createdAt: '2026-11-20T10:01:58.004Z',
    endedAt: '2026-11-20T10:02:03.730Z',
    exitCode: 1,
  },
};
