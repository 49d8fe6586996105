import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects, the one with the longest file first. */
const ORDER = ['main-job', 'release', 'chaos', 'containers', 'programs', 'podman', 'conformance', 'fast'];

/** Starts the projects with the longest files first, so that none of these files runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification) => ORDER.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
