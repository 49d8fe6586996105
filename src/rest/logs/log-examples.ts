import type { Examples } from '../shared/example-values.ts';

export const LOG_EXAMPLES: Examples = {
  LogLines: {
    lines: [
      {
        id: '2026-11-20T10:02:19.481Z/000000000041',
        workerId: 'w9h3s6d1f8g2jk',
        source: 'container',
        level: 'ERROR',
        line: '{"requestId": "019aa0f3-9a4e-7c11-9d2b-5f0c7a61e3b4-u1", "message": "the audio file is empty", "level": "ERROR"}',
        ts: '2026-11-20T10:02:19.481Z',
      },
    ],
    nextCursor: null,
    searchedTo: null,
    keptSince: '2026-10-21T08:14:00.000Z',
  },
};
