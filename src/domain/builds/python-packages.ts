import { Failure, messageOf } from '../../core/errors.ts';
import type { FolderListing } from './folder-listing.ts';
import type { Recipe } from './recipe.ts';

/** The packages of a Python folder. */
export interface PythonPackages {
  installer: Extract<Recipe['installer'], 'pip' | 'uv'> | null;
  lockFiles: string[];
  /** Names of what is required directly, and of locked packages, normalized. `fastapi[standard]` counts as uvicorn too. */
  names: ReadonlySet<string>;
}

interface Project {
  dependencies?: unknown;
}

/** Reads requirements.txt, or pyproject.toml with or without uv.lock. Throws `unprocessable` where they contradict each other. */
export async function findPythonPackages(folder: FolderListing): Promise<PythonPackages> {
  const has = (name: string) => folder.paths.includes(name);
  if (has('pyproject.toml')) {
    const toml = await readToml(folder, 'pyproject.toml');
    const project = toml.project as Project | undefined;
    const required = project === undefined ? [] : requiredOf(project);
    if (has('uv.lock')) return locked(await readToml(folder, 'uv.lock'), required);
    if (!has('requirements.txt')) {
      if (project === undefined && hasPoetry(toml)) {
        throw refuse(
          'pyproject.toml has its dependencies in Poetry’s own form: move them to [project], or run `poetry export -o requirements.txt`',
        );
      }
      if (required.length === 0) return NONE;
      return { installer: 'pip', lockFiles: ['pyproject.toml'], names: namesOf(required) };
    }
  } else if (has('uv.lock')) throw refuse('uv.lock is there, but not the pyproject.toml that it locks');
  if (!has('requirements.txt')) return NONE;
  const { files, lines } = await readRequirements(folder, 'requirements.txt', new Set());
  if (lines.length === 0) return NONE;
  return { installer: 'pip', lockFiles: files, names: namesOf(lines) };
}

const NONE: PythonPackages = { installer: null, lockFiles: [], names: new Set() };

async function readToml({ read }: FolderListing, path: string): Promise<Record<string, unknown>> {
  const { parse } = await import('smol-toml');
  try {
    return parse(await read(path));
  } catch (error) {
    throw refuse(`${path} is not valid TOML: ${messageOf(error).split('\n', 1)[0]}`);
  }
}

function hasPoetry({ tool }: Record<string, unknown>): boolean {
  return typeof tool === 'object' && tool !== null && 'poetry' in tool;
}

function requiredOf({ dependencies = [] }: Project): string[] {
  if (Array.isArray(dependencies) && dependencies.every((one) => typeof one === 'string')) return dependencies;
  throw refuse('pyproject.toml: project.dependencies must be a list of strings');
}

interface UvPackage {
  name: string;
  source?: { virtual?: string; editable?: string };
  metadata?: { 'requires-dist'?: { name: string }[] };
}

/** Compares what the lock file was made of with what is required now. Versions are for uv itself to judge. */
function locked(lock: Record<string, unknown>, required: readonly string[]): PythonPackages {
  const packages = (Array.isArray(lock.package) ? lock.package : []) as UvPackage[];
  const own = packages.find(({ source }) => source?.virtual === '.' || source?.editable === '.');
  const before = new Set((own?.metadata?.['requires-dist'] ?? []).map(({ name }) => normalized(name)));
  const now = namesOf(required, false);
  const missing = [...now].find((name) => !before.has(name));
  const more = [...before].find((name) => !now.has(name) && own !== undefined && !isOptional(own, name));
  if (missing ?? more) {
    const [with_, without] = missing ? ['pyproject.toml', 'uv.lock'] : ['uv.lock', 'pyproject.toml'];
    throw refuse(
      `uv.lock disagrees with pyproject.toml: ${missing ?? more} is in ${with_} and not in ${without}. Run \`uv lock\``,
    );
  }
  const names = new Set([...namesOf(required), ...packages.map(({ name }) => normalized(name))]);
  return { installer: 'uv', lockFiles: ['uv.lock', 'pyproject.toml'], names };
}

/** An extra's dependency is in the metadata with a marker. */
function isOptional({ metadata }: UvPackage, name: string): boolean {
  return (metadata?.['requires-dist'] ?? []).some((one) => normalized(one.name) === name && 'marker' in one);
}

const normalized = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, '-');

/** `isWide` adds what an extra of a web framework brings along. */
function namesOf(requirements: readonly string[], isWide = true): Set<string> {
  const found = requirements.flatMap((line) => {
    const [, name, extras = ''] = /^([A-Za-z0-9][\w.-]*)[ \t]*(\[[^\]]*\])?/.exec(line) ?? [];
    if (name === undefined) return [];
    return isWide && /standard|all/.test(extras) ? [normalized(name), 'uvicorn'] : [normalized(name)];
  });
  return new Set(found);
}

/** Reads a requirements file and those that it includes. */
async function readRequirements(
  folder: FolderListing,
  path: string,
  seen: Set<string>,
): Promise<{ files: string[]; lines: string[] }> {
  if (seen.has(path)) return { files: [], lines: [] };
  seen.add(path);
  const files = [path];
  const lines: string[] = [];
  for (const [index, raw] of (await folder.read(path)).split(/\r?\n/).entries()) {
    const line = withoutComment(raw).trim();
    const where = `${path}, line ${index + 1}`;
    const included = /^(?:-r|--requirement|-c|--constraint)[ =]*(\S+)/.exec(line)?.[1];
    if (included !== undefined) {
      const other = beside(path, included);
      if (!folder.paths.includes(other)) throw refuse(`${where}: the folder has no file ${other}`);
      const more = await readRequirements(folder, other, seen);
      files.push(...more.files);
      lines.push(...more.lines);
    } else if (/^(?:-e|--editable)\b/.test(line) || /^\.{0,2}\//.test(line) || line === '.') {
      throw refuse(
        `${where} installs from a folder: its code is in the image anyway and is found without, so remove the line, or write a Dockerfile`,
      );
    } else if (line !== '' && !line.startsWith('--')) lines.push(line);
  }
  return { files, lines };
}

/** A `#` in a URL is none. */
function withoutComment(line: string): string {
  if (line.startsWith('#')) return '';
  const at = line.search(/[ \t]#/);
  return at < 0 ? line : line.slice(0, at);
}

function beside(path: string, other: string): string {
  const folder = path.split('/').slice(0, -1);
  for (const part of other.split('/')) {
    if (part === '..') folder.pop();
    else if (part !== '.') folder.push(part);
  }
  return folder.join('/');
}

function refuse(sentence: string): Failure {
  return new Failure('unprocessable', sentence);
}
