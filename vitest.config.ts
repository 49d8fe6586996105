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

const cores = availableParallelism();
const BUSY = Math.min(8, Math.max(2, cores));
/** Most files also wait, for containers, servers and timers. With four on two cores, those that end a wait by the clock failed. */
const MIXED = Math.min(8, Math.ceil(BUSY * 1.5));

/** The order of projects, and how many files of each run at a time: those of one group share the machine. */
const GROUPS = {
  quick: { groupOrder: 0, maxWorkers: MIXED },
  /** They measure how long a request waits. */
  attack: { groupOrder: 1, maxWorkers: BUSY },
  whole: { groupOrder: 2, maxWorkers: MIXED },
  /** One cluster for all. Most tests wait for its kubelet. */
  cluster: { groupOrder: 3, maxWorkers: MIXED },
  /** The browsers, which compute, beside one file at a time that has the cluster for itself, and waits. */
  last: { groupOrder: 4, maxWorkers: MIXED },
  /** They read how much of a GPU's memory is in use. */
  gpu: { groupOrder: 5, maxWorkers: 1 },
};

/** A group's part of a project's settings. */
const inGroup = (group: keyof typeof GROUPS) => {
  const { groupOrder, maxWorkers } = GROUPS[group];
  return { maxWorkers, sequence: { groupOrder } };
};

/** A project of tests that start whole servers. */
const slowProject = (
  name: string,
  group: keyof typeof GROUPS,
  include: string[],
  options: { exclude?: string[]; env?: Record<string, string>; isolate?: boolean } = {},
) =>
  ({
    extends: true,
    test: {
      name,
      include,
      ...inGroup(group),
      isolate: true,
      testTimeout: 240_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 30_000 } },
      ...options,
    },
  }) as const;

/** They stop the API server, look at everything in the cluster, load it, add a node to it, or measure how long it takes. */
const ALONE_ON_CLUSTER = [
  'api-server-away',
  'chart',
  'cluster',
  'doctor',
  'failures',
  'node-loss',
  'node-models',
  'placement',
].map((name) => `test/kubernetes/${name}.test.ts`);

const clusterProject = (
  name: string,
  group: keyof typeof GROUPS,
  options: { include: string[]; exclude?: string[]; setupFiles?: string[] },
) => ({
  extends: true,
  test: {
    name,
    ...options,
    ...inGroup(group),
    globalSetup: ['test/global-setup.ts', 'test/kubernetes/global-setup.ts'],
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
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Vitest's own second is too short for a machine that has more to do.
    expect: { poll: { timeout: 20_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          ...inGroup('quick'),
          include: ['{src,console/src,bench,scripts}/**/*.test.ts', 'test/*.test.ts'],
          exclude: ['**/node_modules/**', NOT_FAST],
        },
      },
      slowProject('conformance', 'quick', ['test/conformance/**/*.test.ts'], { isolate: false }),
      slowProject('main-job', 'quick', [MAIN_JOB]),
      slowProject(
        'programs',
        'whole',
        ['test/{e2e,helm,model}/**/*.test.ts', 'workers/**/*.test.ts', 'src/**/*.slow.test.ts'],
        {
          exclude: [MAIN_JOB],
        },
      ),
      slowProject('attack', 'attack', ['test/attack/**/*.test.ts']),
      slowProject('containers', 'whole', ['test/containers/**/*.test.ts', 'src/**/*.docker.test.ts']),
      slowProject('podman', 'whole', WITH_PODMAN, {
        env: { DOCKER_HOST: `unix://${tmpdir()}/podyard-podman/podman.sock` },
      }),
      slowProject('release', 'whole', ['test/release/**/*.test.ts']),
      slowProject('gpu', 'gpu', ['test/gpu/**/*.test.ts']),
      slowProject('chaos', 'whole', ['test/chaos/**/*.test.ts']),
      slowProject('browser', 'last', ['test/browser/**/*.test.ts']),
      clusterProject('cluster', 'cluster', {
        include: ['test/kubernetes/**/*.test.ts', 'src/**/*.kube.test.ts'],
        exclude: ALONE_ON_CLUSTER,
      }),
      clusterProject('cluster-alone', 'last', {
        include: ALONE_ON_CLUSTER,
        setupFiles: ['test/kubernetes/alone.ts'],
      }),
    ],
  },
});
