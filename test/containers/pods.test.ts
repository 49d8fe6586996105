import { beforeAll } from 'vitest';
import { podTests } from '../e2e/pods.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('pods in containers', () => {
  beforeAll(needExampleImages);
  podTests('docker', '/workspace');
});
