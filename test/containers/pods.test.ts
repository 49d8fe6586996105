import { beforeAll, vi } from 'vitest';
import { podTests } from '../e2e/pods.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

vi.setConfig({ testTimeout: 150_000 }); // server restarts are slow on a busy machine

describeWithEngine('pods in containers', () => {
  beforeAll(needExampleImages);
  podTests('docker', '/workspace');
});
