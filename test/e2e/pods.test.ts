import { vi } from 'vitest';
import { podTests } from './pods.ts';

vi.setConfig({ testTimeout: 150_000 }); // server restarts are slow on a busy machine

podTests('process', '/podyard-e2e-pods');
