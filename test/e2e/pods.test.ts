import { vi } from 'vitest';
import { podTests } from './pods.ts';

vi.setConfig({ testTimeout: 150_000 }); // it bounds a hang: restarts of a server on a busy machine take their time

podTests('process', '/podyard-e2e-pods');
