import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const SLOW = ['test/**/*.test.ts', 'workers/**/*.test.ts', 'src/**/*.slow.test.ts'];
const KUBERNETES = ['test/kubernetes/**/*.test.ts', 'src/**/*.kube.test.ts'];

export default defineConfig({
  test: {
    globalSetup: 'test/global-setup.ts',
    pool: 'forks',
    maxWorkers: Math.min(8, Math.max(2, availableParallelism())),
    testTimeout: 10_000,
    hookTimeout: 30_000,
    projects: [
      // What `npm run check` runs: no containers, nothing that takes long.
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['{src,console/src}/**/*.test.ts'],
          exclude: ['src/**/*.{slow,kube}.test.ts'],
        },
      },
      // Whole programs, containers, real kills.
      {
        extends: true,
        test: { name: 'slow', include: SLOW, exclude: KUBERNETES, testTimeout: 60_000, hookTimeout: 120_000 },
      },
      // One cluster for all: after everything else, a file at a time.
      {
        extends: true,
        test: {
          name: 'kubernetes',
          include: KUBERNETES,
          globalSetup: ['test/global-setup.ts', 'test/kubernetes/global-setup.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          env: { PODYARD_TEST_PATIENCE_MS: '90000' },
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
