import type { Examples } from '../shared/example-values.ts';

export const INSTALLATION_EXAMPLES: Examples = {
  Installation: {
    id: 'k2v9q0x4zt',
    version: '0.1.0',
    runtime: 'kubernetes',
    isolation: true,
    gpus: 'REAL',
    freeze: 'PARKED',
    sleep: 'NONE',
    notices: ['Frozen workers are parked here'],
    problems: ['The disk of the data directory has 3.1 GiB of 200.0 GiB left'],
  },
};
