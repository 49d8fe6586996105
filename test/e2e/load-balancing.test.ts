import { beforeAll, describe } from 'vitest';
import { describeWithEngine, hasEngine, needExampleImages } from './container-engine.ts';
import { loadBalancingTests } from './load-balancing.ts';

describe('Load balancing over workers that are processes', () => loadBalancingTests('process', !hasEngine));

describeWithEngine('Load balancing over workers in containers', () => {
  beforeAll(needExampleImages);
  loadBalancingTests('docker', true);
});
