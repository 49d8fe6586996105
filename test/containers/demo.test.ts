import { beforeAll } from 'vitest';
import { demoTest } from '../e2e/demo.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('the demo with containers', () => {
  beforeAll(needExampleImages);
  demoTest('docker');
});
