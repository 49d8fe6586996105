import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects, the one with the longest file first. */
const ORDER = ['main-job', 'release', 'chaos', 'containers', 'programs', 'podman', 'conformance', 'fast'];

/** The files of one to six minutes, the longest first, which a new checkout has no times of. Most are short: vitest would start them late. */
export const LONG = [
  'src/runtimes/kubernetes/kubernetes-runtime.kube.test.ts',
  'test/attack/neighbors.test.ts',
  'test/release/debian.test.ts',
  'test/release/install.test.ts',
  'test/browser/console.test.ts',
  'test/release/compose.test.ts',
  'test/browser/lists-and-charts.test.ts',
  'test/browser/hostile-names.test.ts',
  'test/kubernetes/chart.test.ts',
  'test/containers/package.test.ts',
  'src/builders/processes/process-builder.slow.test.ts',
  'test/browser/console-frame.test.ts',
  'test/kubernetes/api-server-away.test.ts',
  'test/kubernetes/models.test.ts',
  'test/containers/cut-sessions.test.ts',
  'test/containers/move.test.ts',
  'test/attack/cpu-turns.test.ts',
  'test/containers/egress.test.ts',
  'test/e2e/docs.test.ts',
  'test/attack/slow-bodies.test.ts',
  'test/attack/hostile-requests.test.ts',
  'test/e2e/deploy.test.ts',
  'test/e2e/gpus.test.ts',
  'test/release/install-over.test.ts',
  'test/release/artifacts.test.ts',
  'test/kubernetes/volume-files.test.ts',
  'src/runtimes/kubernetes/api/cluster-facts.kube.test.ts',
  'test/e2e/data-processes.test.ts',
  'test/chaos/many-processes.test.ts',
];

/**
 * Starts the longest files first, so that none of them runs alone at the end while the other cores idle. Those that take turns
 * begin evenly spread among the files beside them.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) => {
      const long = LONG.indexOf(relative(process.cwd(), moduleId));
      return long < 0 ? LONG.length + ORDER.indexOf(project.name) : long;
    };
    const sorted = (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
    const {
      turns = [],
      beside = [],
      rest = [],
    } = Object.groupBy(sorted, ({ project }) =>
      project.name === 'cluster-alone' ? 'turns' : project.name === 'browser' ? 'beside' : 'rest',
    );
    return [...rest, ...spread(turns, beside)];
  }
}

/** Returns both in their order, the first ones at even distances. */
export function spread<T>(few: readonly T[], many: readonly T[]): T[] {
  const step = (few.length + many.length) / few.length;
  const all = [...many];
  for (const [i, one] of few.entries()) all.splice(Math.round(i * step), 0, one);
  return all;
}
