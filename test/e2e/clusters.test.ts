import { vi } from 'vitest';
import { clusterTests } from './clusters.ts';

vi.setConfig({ testTimeout: 150_000 }); // server restarts are slow on a busy machine

clusterTests('process');
