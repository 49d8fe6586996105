import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const SLOW = ['test/**/*.test.ts', 'workers/**/*.test.ts', 'src/**/*.slow.test.ts'];

export default defineConfig({
  test: {
    globalSetup: 'test/global-setup.ts',
    pool: 'forks',
    maxWorkers: Math.min(8, Math.max(2, availableParallelism())),
    testTimeout: 10_000,
    hookTimeout: 30_000,
    projects: [
      // What `npm run check` runs: no containers, nothing that takes long.
      { extends: true, test: { name: 'fast', include: ['src/**/*.test.ts'], exclude: ['src/**/*.slow.test.ts'] } },
      // Whole programs, containers, real kills.
      { extends: true, test: { name: 'slow', include: SLOW, testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
});
