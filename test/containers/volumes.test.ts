import { beforeAll } from 'vitest';
import { volumeTests } from '../e2e/volumes.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('network volumes of workers in containers', () => {
  beforeAll(needExampleImages);
  volumeTests('docker');
});
