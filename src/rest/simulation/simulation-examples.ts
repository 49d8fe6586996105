import type { Examples } from '../shared/example-values.ts';

export const SIMULATION_EXAMPLES: Examples = {
  Simulation: { gpus: [{ pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 4 }], slowPull: null },
  SimulateRequest: { action: 'capacity', pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 0 },
};
