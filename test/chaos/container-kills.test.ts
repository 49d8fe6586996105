import { beforeAll } from 'vitest';
import { describeWithEngine, needExampleImages } from '../containers/container-engine.ts';
import { times } from './extent.ts';
import { killTests } from './kills.ts';

describeWithEngine('with workers in containers', () => {
  beforeAll(needExampleImages);
  killTests('docker', { serverKills: times(5), workerKills: times(6) });
});
