import { beforeAll } from 'vitest';
import { proxyTests } from '../e2e/proxy.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('pods in containers, through the proxy', () => {
  beforeAll(needExampleImages);
  proxyTests('docker');
});
