import { beforeAll } from 'vitest';
import { loadBalancingTests } from '../e2e/load-balancing.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('load balancing over workers in containers', () => {
  beforeAll(needExampleImages);
  loadBalancingTests('docker');
});
