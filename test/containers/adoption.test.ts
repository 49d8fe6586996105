import { beforeAll } from 'vitest';
import { adoptionTests } from '../e2e/adoption.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('with workers in containers', () => {
  beforeAll(needExampleImages);
  adoptionTests('docker');
});
