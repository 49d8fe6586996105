import { beforeAll } from 'vitest';
import { describeWithEngine, needExampleImages } from './container-engine.ts';
import { moveTests } from './move.ts';

describeWithEngine('from containers to processes, and back', () => {
  beforeAll(needExampleImages);
  moveTests({ runtime: 'docker' }, () => ({ runtime: 'process' }));
});
