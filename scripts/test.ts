/**
 * Runs suites of tests: `node scripts/test.ts SUITE... [--thorough] [vitest's own arguments]`. Prepares this machine for
 * them first. Suites that share the machine well run together, the cluster last. Ends with 1 if anything failed.
 *
 * `--thorough` kills more often and keeps the load up for longer (test/chaos/extent.ts). With CI=true a failed test is tried
 * once more, because whole servers and containers share two cores there; `count-tests.ts` names the tests that needed it.
 */
import { spawnSync } from 'node:child_process';

interface Suite {
  /** Of vitest.config.ts. */
  projects: string[];
  /** What scripts/setup-tests.sh has to install or start. */
  needs: string[];
}

const SUITES: Record<string, Suite> = {
  quick: { projects: ['fast', 'conformance', 'main-job'], needs: [] },
  programs: { projects: ['programs', 'attack'], needs: ['programs'] },
  containers: { projects: ['containers'], needs: ['containers'] },
  browser: { projects: ['browser'], needs: ['containers', 'browser'] },
  chaos: { projects: ['chaos'], needs: ['containers'] },
  cluster: { projects: ['cluster'], needs: ['containers', 'cluster'] },
};

const isCI = process.env.CI === 'true';
const args = process.argv.slice(2);
const first = args.findIndex((arg) => !(arg in SUITES));
const names = first < 0 ? args : args.slice(0, first);
const passedOn = args.slice(names.length).filter((arg) => arg !== '--thorough');
if (args.includes('--thorough')) process.env.PODYARD_TEST_THOROUGH = 'true';

const run = (command: string, ...rest: string[]) => spawnSync(command, rest, { stdio: 'inherit' }).status === 0;

/** False when something is missing with CI=true; elsewhere the tests that need it are skipped. */
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

// Without its needs a suite still says which tests lack what.
const isPrepared = prepare();
const hasPassed = runSuites();
process.exitCode = isPrepared && hasPassed ? 0 : 1;
