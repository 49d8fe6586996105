import { Failure, messageOf } from '../../core/errors.ts';
import type { FolderListing } from './folder-listing.ts';
import type { Recipe } from './recipe.ts';

type Versions = Readonly<Record<string, string>>;

/** The parts of package.json that decide what is installed and started. */
export interface Manifest {
  scripts: Versions;
  dependencies: Versions;
  devDependencies: Versions;
  optionalDependencies: Versions;
  packageManager: string | null;
}

type Installer = Extract<Recipe['installer'], 'npm' | 'pnpm' | 'yarn'>;

const LOCK_FILES: Readonly<Record<string, Installer>> = {
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
};
/** Files that change what is installed, if they are there. */
const SETTINGS = ['.npmrc', '.yarnrc.yml', '.yarnrc', 'pnpm-workspace.yaml'];
const GROUPS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

/** Reads package.json; null if there is none. Throws `unprocessable` if it is malformed. */
export async function readManifest({ paths, read }: FolderListing): Promise<Manifest | null> {
  if (!paths.includes('package.json')) return null;
  const value = parseJson('package.json', await read('package.json'));
  const { packageManager } = value;
  return {
    scripts: textsOf(value, 'scripts'),
    dependencies: textsOf(value, 'dependencies'),
    devDependencies: textsOf(value, 'devDependencies'),
    optionalDependencies: textsOf(value, 'optionalDependencies'),
    packageManager: typeof packageManager === 'string' ? packageManager : null,
  };
}

function parseJson(path: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw refuse(`${path} is not valid JSON: ${messageOf(error)}`);
  }
  throw refuse(`${path} must be a JSON object`);
}

function textsOf(manifest: Record<string, unknown>, name: string): Versions {
  const value = manifest[name] ?? {};
  const isRight =
    typeof value === 'object' && !Array.isArray(value) && Object.values(value).every((one) => typeof one === 'string');
  if (isRight) return value as Versions;
  throw refuse(`package.json: ${name} must be an object of strings`);
}

/** Returns what installs the dependencies. Throws `unprocessable` where the lock file disagrees with package.json. */
export async function findNodePackages(
  folder: FolderListing,
  manifest: Manifest | null,
): Promise<{ installer: Installer | null; lockFiles: string[] }> {
  const locks = Object.keys(LOCK_FILES).filter((name) => folder.paths.includes(name));
  if (manifest === null) {
    if (locks.length === 0) return { installer: null, lockFiles: [] };
    throw refuse(`${locks[0]} is there, but not the package.json that it locks`);
  }
  const settings = SETTINGS.filter((name) => folder.paths.includes(name));
  const isEmpty = GROUPS.every((group) => Object.keys(manifest[group]).length === 0);
  const lock = chooseLock(locks, manifest);
  if (lock === undefined) {
    return isEmpty
      ? { installer: null, lockFiles: [] }
      : { installer: 'npm', lockFiles: ['package.json', ...settings] };
  }
  const disagreement = findDisagreement(lock, await folder.read(lock), manifest);
  if (disagreement !== null) {
    throw refuse(`${lock} disagrees with package.json: ${disagreement}. Run \`${LOCK_FILES[lock]} install\``);
  }
  return { installer: LOCK_FILES[lock]!, lockFiles: [lock, 'package.json', ...settings] };
}

/** Chooses among several lock files the one of `packageManager`. */
function chooseLock(locks: readonly string[], { packageManager }: Manifest): string | undefined {
  if (locks.length <= 1) return locks[0];
  const named = locks.find((lock) => packageManager?.startsWith(`${LOCK_FILES[lock]}@`));
  if (named !== undefined) return named;
  throw refuse(
    `${locks.join(' and ')} both lock the dependencies: keep one, or name it with packageManager in package.json`,
  );
}

/** Returns the first dependency that a lock file has otherwise, as a part of a sentence; null if there is none. */
function findDisagreement(lock: string, text: string, manifest: Manifest): string | null {
  const lockedOf =
    lock === 'pnpm-lock.yaml' ? pnpmLocked(text) : lock === 'yarn.lock' ? yarnLocked(text) : npmLocked(lock, text);
  if (lockedOf === null) return null;
  for (const [name, wanted] of GROUPS.flatMap((group) => Object.entries(manifest[group]))) {
    const locked = lockedOf(name, wanted);
    if (locked === undefined) return `it lacks ${name}`;
    if (locked !== wanted) return `it has ${name} ${locked}, and package.json ${wanted}`;
  }
  return null;
}

/** Returns what a lock file was made for; undefined if it lacks the package. */
type LockedOf = (name: string, wanted: string) => string | undefined;

function npmLocked(lock: string, text: string): LockedOf | null {
  const { packages } = parseJson(lock, text) as {
    packages?: Record<string, Partial<Record<(typeof GROUPS)[number], Versions>>>;
  };
  const root = packages?.[''];
  if (!root) return null; // of npm 6: it does not say
  const all: Versions = Object.assign({}, ...GROUPS.map((group) => root[group] ?? {}));
  return (name) => (Object.hasOwn(all, name) ? all[name] : undefined);
}

/** The importer of the folder itself: `      left-pad:` and below it `        specifier: ^1.3.0`. */
function pnpmLocked(text: string): LockedOf | null {
  const lines = text.split('\n');
  const start = lines.indexOf('  .:', lines.indexOf('importers:') + 1);
  if (!lines.includes('importers:') || start < 0) return null; // of an older pnpm
  const all = new Map<string, string>();
  for (let at = start + 1; at < lines.length && (lines[at] === '' || lines[at]!.startsWith('    ')); at += 1) {
    const [heading, value] = [lines[at]!, lines[at + 1] ?? ''];
    const isPackage = heading.startsWith('      ') && heading.endsWith(':') && value.startsWith('        specifier: ');
    if (isPackage) all.set(unquoted(heading.slice(0, -1)), unquoted(value.slice('        specifier: '.length)));
  }
  return (name) => all.get(name);
}

const unquoted = (text: string) => text.trim().replaceAll(/^'|'$/g, '');

/** Headings such as `left-pad@^1.3.0, left-pad@^1.2.0:`, and of newer ones `"left-pad@npm:^1.3.0":`. */
function yarnLocked(text: string): LockedOf {
  const headings = text.split('\n').filter((line) => /^["\w@].*:$/.test(line));
  const ranges = new Set(headings.flatMap((line) => line.slice(0, -1).replaceAll('"', '').split(', ')));
  const names = new Map([...ranges].map((range) => [range.slice(0, range.indexOf('@', 1)), range]));
  return (name, wanted) => {
    if (ranges.has(`${name}@${wanted}`) || ranges.has(`${name}@npm:${wanted}`)) return wanted;
    return names
      .get(name)
      ?.slice(name.length + 1)
      .replace(/^npm:/, '');
  };
}

function refuse(sentence: string): Failure {
  return new Failure('unprocessable', sentence);
}
