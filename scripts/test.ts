/**
 * Runs test suites: `node scripts/test.ts SUITE... [--thorough] [vitest arguments]`. Prepares this machine for them first.
 * vitest.config.ts says which suites share the machine. Exits with 1 if anything failed.
 *
 * `--thorough` makes the chaos suite kill more often and longer (test/chaos/extent.ts). With CI=true the files that failed get
 * a second try from the beginning, because whole servers and containers share two cores there: a test has failed if it passed on
 * neither; `count-tests.ts` names those that passed on one.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type RunReport, withSecondTry } from './report-tests.ts';

interface Suite {
  /** The projects in vitest.config.ts. */
  projects: string[];
  /** The arguments for scripts/setup-tests.sh. */
  needs: string[];
}

const SUITES: Record<string, Suite> = {
  quick: { projects: ['fast', 'conformance', 'main-job'], needs: [] },
  programs: { projects: ['programs', 'attack'], needs: ['programs'] },
  containers: { projects: ['containers', 'podman'], needs: ['containers', 'podman'] },
  browser: { projects: ['browser'], needs: ['containers', 'browser'] },
  release: { projects: ['release'], needs: ['containers', 'release'] },
  gpu: { projects: ['gpu'], needs: [] },
  chaos: { projects: ['chaos'], needs: ['programs', 'containers'] },
  cluster: { projects: ['cluster', 'cluster-alone'], needs: ['containers', 'cluster'] },
};

/** If more files fail, it is not an accident. */
const SECOND_TRIES = 12;

const isCI = process.env.CI === 'true';
const args = process.argv.slice(2);
const first = args.findIndex((arg) => !(arg in SUITES));
const names = first < 0 ? args : args.slice(0, first);
const passedOn = args.slice(names.length).filter((arg) => arg !== '--thorough');
if (args.includes('--thorough')) process.env.PODYARD_TEST_THOROUGH = 'true';

const run = (command: string, ...rest: string[]) => spawnSync(command, rest, { stdio: 'inherit' }).status === 0;

/**
 * False when something is missing and CI=true; otherwise the tests that need it are skipped. Servers and commands of these suites
 * are the bundle, which users get and which starts in half the time.
 */
function prepare(): boolean {
  const needs = new Set(names.flatMap((name) => SUITES[name]!.needs));
  if (needs.size === 0) return true;
  const isBuilt = run('node', 'scripts/build-program.ts');
  if (isBuilt) process.env.PODYARD_TEST_MAIN = resolve('dist/main.js');
  return run('sh', 'scripts/setup-tests.sh', ...needs) && run('sh', 'scripts/build-stale.sh') && isBuilt;
}

function runSuites(): boolean {
  const ownProjects = names.flatMap((name) => SUITES[name]!.projects);
  const isChosen = passedOn.some((arg) => arg.startsWith('--project'));
  const projects = isChosen ? [] : ownProjects.map((project) => `--project=${project}`);
  if (!isCI) return run('vitest', 'run', ...projects, ...passedOn);

  process.env.PODYARD_TEST_REPORTS ??= mkdtempSync(join(tmpdir(), 'podyard-tests-'));
  const path = join(process.env.PODYARD_TEST_REPORTS, `${process.env.PODYARD_TEST_RUN ?? 'tests'}.json`);
  const vitest = (...rest: string[]) =>
    run('vitest', 'run', '--reporter=default', '--reporter=scripts/report-tests.ts', ...rest);
  if (vitest(...projects, ...passedOn)) return true;

  const first = readReport(path);
  const failed = first.files.filter((file) => file.failed > 0);
  if (first.errors > 0 || failed.length === 0 || failed.length > SECOND_TRIES) return false;
  console.log(`test: ${failed.length} files failed; they get a second try`);
  const again = new Set(failed.map(({ project }) => `--project=${project}`));
  vitest(...again, ...failed.map(({ file }) => file));
  const both = withSecondTry(first, readReport(path));
  writeFileSync(path, JSON.stringify(both));
  return both.errors === 0 && both.files.every((file) => file.failed === 0);
}

function readReport(path: string): RunReport {
  return JSON.parse(readFileSync(path, 'utf8')) as RunReport;
}

// A suite that lacks something still runs, and shows which tests need it.
const isPrepared = prepare();
const hasPassed = runSuites();
process.exitCode = isPrepared && hasPassed ? 0 : 1;
