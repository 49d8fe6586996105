import { beforeAll, describe } from 'vitest';
import { adoptionTests } from './adoption.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describe('with workers that are processes', () => adoptionTests('process'));

describeWithEngine('with workers in containers', () => {
  beforeAll(needExampleImages);
  adoptionTests('docker');
});
