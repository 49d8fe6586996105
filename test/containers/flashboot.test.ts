import { beforeAll } from 'vitest';
import { flashbootTests } from '../e2e/flashboot.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('FlashBoot with workers in containers', () => {
  beforeAll(needExampleImages);
  flashbootTests('docker');
});
