import { beforeAll, describe } from 'vitest';
import { buildImage } from '../../src/runtimes/docker/example-images.ts';
import { describeWithEngine } from './container-engine.ts';
import { volumeTests } from './volumes.ts';

describe('volumes of workers that are processes', () => volumeTests('process'));

describeWithEngine('volumes of workers in containers', () => {
  beforeAll(async () => {
    const { status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    if (status === 'skipped') throw new Error(note);
  });
  volumeTests('docker');
});
