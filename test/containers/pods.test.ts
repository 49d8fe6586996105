import { beforeAll, vi } from 'vitest';
import { podTests } from '../e2e/pods.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

vi.setConfig({ testTimeout: 150_000 }); // it bounds a hang: restarts of a server on a busy machine take their time

describeWithEngine('pods in containers', () => {
  beforeAll(needExampleImages);
  podTests('docker', '/workspace');
});
