import { beforeAll, describe } from 'vitest';
import { describeWithEngine, needExampleImages } from './container-engine.ts';
import { podTests } from './pods.ts';

describe('pods that are processes', () => podTests('process', '/podyard-e2e-pods'));

describeWithEngine('pods in containers', () => {
  beforeAll(needExampleImages);
  podTests('docker', '/workspace');
});
