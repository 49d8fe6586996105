import { beforeAll, vi } from 'vitest';
import { proxyTests } from '../e2e/proxy.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

vi.setConfig({ testTimeout: 120_000 }); // pods restart during the tests

describeWithEngine('pods in containers, through the proxy', () => {
  beforeAll(needExampleImages);
  proxyTests('docker');
});
