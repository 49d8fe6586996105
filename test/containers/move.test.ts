import { beforeAll } from 'vitest';
import { moveTests } from '../e2e/move.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('from containers to processes, and back', () => {
  beforeAll(needExampleImages);
  moveTests({ runtime: 'docker' }, () => ({ runtime: 'process' }));
});
