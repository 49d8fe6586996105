import { beforeAll, describe, vi } from 'vitest';
import { describeWithEngine, needExampleImages } from './container-engine.ts';
import { podTests } from './pods.ts';

vi.setConfig({ testTimeout: 150_000 }); // it bounds a hang: restarts of a server on a busy machine take their time

describe('pods that are processes', () => podTests('process', '/podyard-e2e-pods'));

describeWithEngine('pods in containers', () => {
  beforeAll(needExampleImages);
  podTests('docker', '/workspace');
});
