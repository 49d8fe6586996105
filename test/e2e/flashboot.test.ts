import { beforeAll, describe } from 'vitest';
import { describeWithEngine, needExampleImages } from './container-engine.ts';
import { flashbootTests } from './flashboot.ts';

describe('FlashBoot with workers that are processes', () => flashbootTests('process'));

describeWithEngine('FlashBoot with workers in containers', () => {
  beforeAll(needExampleImages);
  flashbootTests('docker');
});
