import { vi } from 'vitest';
import { proxyTests } from './proxy.ts';

vi.setConfig({ testTimeout: 120_000 }); // pods restart during the tests

proxyTests('process');
