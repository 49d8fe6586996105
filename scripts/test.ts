/**
 * Runs test suites: `node scripts/test.ts SUITE... [--thorough] [vitest arguments]`. Prepares this machine for them first.
 * All suites share the machine except the cluster's, which runs last. Exits with 1 if anything failed.
 *
 * `--thorough` makes the chaos suite kill more often and longer (test/chaos/extent.ts). With CI=true a failed test is retried
 * once, because whole servers and containers share two cores there; `count-tests.ts` names the tests that needed it.
 */
import { spawnSync } from 'node:child_process';

interface Suite {
  /** The projects in vitest.config.ts. */
  projects: string[];
  /** The arguments for scripts/setup-tests.sh. */
  needs: string[];
}

const SUITES: Record<string, Suite> = {
  quick: { projects: ['fast', 'conformance', 'main-job'], needs: [] },
  programs: { projects: ['programs', 'attack'], needs: ['programs'] },
  containers: { projects: ['containers'], needs: ['containers'] },
  browser: { projects: ['browser'], needs: ['containers', 'browser'] },
  gpu: { projects: ['gpu'], needs: [] },
  chaos: { projects: ['chaos'], needs: ['programs', 'containers'] },
  cluster: { projects: ['cluster'], needs: ['containers', 'cluster'] },
};

const isCI = process.env.CI === 'true';
const args = process.argv.slice(2);
const first = args.findIndex((arg) => !(arg in SUITES));
const names = first < 0 ? args : args.slice(0, first);
const passedOn = args.slice(names.length).filter((arg) => arg !== '--thorough');
if (args.includes('--thorough')) process.env.PODYARD_TEST_THOROUGH = 'true';

const run = (command: string, ...rest: string[]) => spawnSync(command, rest, { stdio: 'inherit' }).status === 0;

/** False when something is missing and CI=true; otherwise the tests that need it are skipped. */
function prepare(): boolean {
  const needs = new Set(names.flatMap((name) => SUITES[name]!.needs));
  if (needs.size === 0) return true;
  return (
    run('sh', 'scripts/setup-tests.sh', ...needs) &&
    run('node', 'console/build.ts', '--if-stale') &&
    run('node', 'scripts/build-docs.ts', '--if-stale')
  );
}

function runSuites(): boolean {
  const ownProjects = names.flatMap((name) => SUITES[name]!.projects);
  const isChosen = passedOn.some((arg) => arg.startsWith('--project'));
  const projects = isChosen ? [] : ownProjects.map((project) => `--project=${project}`);
  const reporters = process.env.PODYARD_TEST_REPORTS
    ? ['--reporter=default', '--reporter=scripts/report-tests.ts']
    : [];
  return run('vitest', 'run', ...projects, ...(isCI ? ['--retry=1'] : []), ...reporters, ...passedOn);
}

// A suite that lacks something still runs, and shows which tests need it.
const isPrepared = prepare();
const hasPassed = runSuites();
process.exitCode = isPrepared && hasPassed ? 0 : 1;
