import type { Examples } from '../shared/example-values.ts';

export const JOB_EXAMPLES: Examples = {
  JobList: {
    requests: [
      {
        id: '019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b4-u1',
        status: 'FAILED',
        lowPriority: false,
        workerId: 'w9h3s6d1f8g2jk',
        createdAt: '2026-11-20T10:02:09.120331Z',
        startedAt: '2026-11-20T10:02:11.430118Z',
        finishedAt: '2026-11-20T10:02:12.001873Z',
        delayTime: 2310,
        executionTime: 572,
        retries: 0,
        error: 'the audio file is empty',
      },
    ],
    nextCursor: null,
  },
};
