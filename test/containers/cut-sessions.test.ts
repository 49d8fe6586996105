import { beforeAll } from 'vitest';
import { cutSessionTests } from '../e2e/cut-sessions.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

describeWithEngine('sessions in containers that are cut off', () => {
  beforeAll(needExampleImages);
  cutSessionTests('docker');
});
