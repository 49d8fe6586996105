import { availableParallelism, tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

/** Tests of one part that need more than a database: each kind runs with a suite other than `fast`. */
const NOT_FAST = 'src/**/*.{slow,docker,kube}.test.ts';
const MAIN_JOB = 'test/e2e/main-job.test.ts';

/** The tests of containers that run with Podman, too: what engines do differently. scripts/podman-up.sh starts it. */
const WITH_PODMAN = [
  'src/runtimes/docker/{,containers/,engine/,network/}{bridge-network,container-freezer,docker-runtime,engine-facts,prepared-networks}.docker.test.ts',
  'src/runtimes/docker/images/registry-mirrors.docker.test.ts',
  'src/builders/engine/*.docker.test.ts',
  'test/containers/{adoption,clusters,demo,deploy,egress,flashboot,pulled-once}.test.ts',
];

/** A project of tests that start whole servers. */
const slowProject = (
  name: string,
  include: string[],
  options: { exclude?: string[]; sequence?: object; env?: Record<string, string> } = {},
) =>
  ({
    extends: true,
    test: {
      name,
      include,
      isolate: true,
      testTimeout: 60_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
      ...options,
    },
  }) as const;

/** They stop the API server, look at everything in the cluster, load it, or measure how long it takes. */
const ALONE_ON_CLUSTER = ['api-server-away', 'chart', 'cluster', 'doctor', 'failures', 'node-loss', 'placement'].map(
  (name) => `test/kubernetes/${name}.test.ts`,
);

/** Tests that use the cluster, which runs them after the projects of lower groups. */
const clusterProject = (
  name: string,
  groupOrder: number,
  files: { include: string[]; exclude?: string[]; maxWorkers: number },
) => ({
  extends: true,
  test: {
    name,
    ...files,
    globalSetup: ['test/global-setup.ts', 'test/kubernetes/global-setup.ts'],
    sequence: { groupOrder },
    isolate: true,
    env: { PODYARD_TEST_TIMEOUT_MS: '90000' },
    testTimeout: 240_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
  },
});

// scripts/test.ts says which projects make up a suite, and what each needs of the machine.
export default defineConfig({
  test: {
    globalSetup: 'test/global-setup.ts',
    pool: 'forks',
    // One process runs many files and loads each module once: loading them takes more than most tests do.
    isolate: false,
    maxWorkers: Math.min(8, Math.max(2, availableParallelism())),
    testTimeout: 10_000,
    hookTimeout: 30_000,
    // Vitest's own second is too short for a machine that has more to do.
    expect: { poll: { timeout: 8_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['{src,console/src,bench,scripts}/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['**/node_modules/**', NOT_FAST],
        },
      },
      slowProject('conformance', ['test/conformance/**/*.test.ts']),
      slowProject('main-job', [MAIN_JOB]),
      slowProject('programs', ['test/{e2e,helm,model}/**/*.test.ts', 'workers/**/*.test.ts', 'src/**/*.slow.test.ts'], {
        exclude: [MAIN_JOB],
      }),
      slowProject('attack', ['test/attack/**/*.test.ts']),
      slowProject('containers', ['test/containers/**/*.test.ts', 'src/**/*.docker.test.ts']),
      slowProject('podman', WITH_PODMAN, { env: { DOCKER_HOST: `unix://${tmpdir()}/podyard-podman/podman.sock` } }),
      slowProject('release', ['test/release/**/*.test.ts']),
      slowProject('gpu', ['test/gpu/**/*.test.ts']),
      slowProject('chaos', ['test/chaos/**/*.test.ts']),
      // Chromium ends all requests when a network interface comes or goes (ERR_NETWORK_CHANGED), as those of containers do.
      slowProject('browser', ['test/browser/**/*.test.ts'], { sequence: { groupOrder: 1 } }),
      // One cluster for all, after everything else. Most tests wait for its kubelet, so two files run at a time.
      clusterProject('cluster', 2, {
        include: ['test/kubernetes/**/*.test.ts', 'src/**/*.kube.test.ts'],
        exclude: ALONE_ON_CLUSTER,
        maxWorkers: 2,
      }),
      clusterProject('cluster-alone', 3, { include: ALONE_ON_CLUSTER, maxWorkers: 1 }),
    ],
  },
});
