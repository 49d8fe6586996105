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
  },
};
