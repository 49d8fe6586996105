import { Failure } from '../../core/errors.ts';
import { blankPython } from './blank-text.ts';
import {
  type FolderListing,
  onlyOne,
  type RecipeWishes,
  readHandler,
  readSources,
  type Source,
  squeezed,
} from './folder-listing.ts';
import { findPythonPackages, type PythonPackages } from './python-packages.ts';
import type { Recipe } from './recipe.ts';

type Entry = NonNullable<Recipe['entry']>;

const STARTS_SDK = /\brunpod\.serverless\.start ?\(|^ ?from podyard_worker import\b|^ ?import podyard_worker\b/m;
const IMPORTS_START = /^ ?from runpod\.serverless import\b/m;
const HANDLER = /^(?:async )?def handler ?\(|^handler ?(?::|=(?!=))/m;
/** An app's assignment, on one line. */
const APP = /^(\w+) ?(?::[^=]*)?= ?(?:\w+\.)?(FastAPI|Starlette|Quart|Litestar|Flask) ?\(/;
const SERVES_ITSELF = /\buvicorn\.run ?\(|\bserve_forever ?\(|^ app\.run ?\(|\bweb\.run_app ?\(/m;

/** The kit needs Python 3.9. */
const KIT_MINOR = 9;

/** Files that never have the entry: tests, settings of tools, and a copy of the kit. */
const NO_SOURCE = /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest|setup|noxfile|podyard_worker)\.py$/;

/** Returns the recipe of a Python folder; null if it has no entry. Throws `unprocessable`. */
export async function detectPython(folder: FolderListing, wishes: RecipeWishes): Promise<Recipe | null> {
  const sources = await readSources(folder, (path) => path.endsWith('.py') && !NO_SOURCE.test(path), blankPython);
  const isNamed = wishes.handler !== undefined && /\.py(?::|$)/.test(wishes.handler);
  if (wishes.handler !== undefined && !isNamed) return null;
  const hasPackages = ['requirements.txt', 'pyproject.toml'].some((name) => folder.paths.includes(name));
  if (sources.length === 0 && !hasPackages && !isNamed) return null;
  if (wishes.command !== undefined && !isPythonCommand(wishes.command) && folder.paths.includes('package.json'))
    return null;
  const packages = await findPythonPackages(folder);
  const entry = await findEntry(folder, sources, wishes, packages);
  if (entry === null) return null;
  const version = wishes.python ?? (await pinnedVersion(folder));
  if (entry.kind === 'handler') checkVersion(version, wishes.python === undefined ? '.python-version' : 'build.python');
  return {
    language: 'python',
    dockerfile: null,
    target: null,
    base: wishes.base ?? null,
    version,
    installer: packages.installer,
    lockFiles: packages.lockFiles,
    systemPackages: [...(wishes.systemPackages ?? [])],
    secretIds: [...(wishes.secretIds ?? [])],
    buildCommand: null,
    entry,
  };
}

function isPythonCommand([program = '']: readonly string[]): boolean {
  return /^(?:python[\d.]*|uvicorn|gunicorn|hypercorn|flask|fastapi|uv)$/.test(program);
}

async function findEntry(
  folder: FolderListing,
  sources: readonly Source[],
  { serves, handler, command }: RecipeWishes,
  packages: PythonPackages,
): Promise<Entry | null> {
  if (command !== undefined) return { kind: 'program', command: [...command] };
  if (handler !== undefined) return namedHandler(folder, handler);
  return serves === 'requests' ? findServer(sources, packages) : findWorker(sources);
}

async function namedHandler({ paths, read }: FolderListing, handler: string): Promise<Entry | null> {
  const { file, name } = readHandler(handler, 'handler');
  if (!paths.includes(file)) return null;
  const code = squeezed(blankPython(await read(file)));
  if (new RegExp(`\\b${name.replace(/\W/g, '')}\\b`).test(code)) return { kind: 'handler', file, name };
  throw new Failure(
    'unprocessable',
    `build.handler is '${handler}', but ${file} has no function ${name}${functionsText(code)}`,
  );
}

function functionsText(code: string): string {
  const names = [...code.matchAll(/^(?:async )?def (\w{1,100})/gm)].map(([, name]) => name);
  return names.length === 0 ? '' : `; it has ${names.slice(0, 8).join(', ')}`;
}

/** A program that starts an SDK itself, or else a handler that the kit serves. */
function findWorker(sources: readonly Source[]): Entry | null {
  const starters = sources.filter(startsSdk);
  const names = [/(?:^|\/)handler\.py$/, /(?:^|\/)main\.py$/, /(?:^|\/)worker\.py$/, /(?:^|\/)rp_handler\.py$/];
  const starter = onlyOne(starters, names, 'start a worker');
  if (starter) return { kind: 'program', command: ['python', '-u', starter.path] };
  const named = sources.find(({ path, code }) => /(?:^|\/)handler\.py$/.test(path) && importsHandler(code));
  const defining = sources.filter(({ code }) => HANDLER.test(code));
  const source = onlyOne(defining.length === 0 && named ? [named] : defining, names.slice(0, 1), 'define handler(job)');
  return source ? { kind: 'handler', file: source.path, name: 'handler' } : null;
}

function importsHandler(code: string): boolean {
  return code.split('\n').some((line) => /^from [\w.]+ import /.test(line) && /\bhandler\b/.test(line));
}

function findApp(code: string): RegExpExecArray | undefined {
  for (const line of code.split('\n')) {
    const app = APP.exec(line);
    if (app) return app;
  }
  return undefined;
}

function startsSdk({ code }: Source): boolean {
  return STARTS_SDK.test(code) || (IMPORTS_START.test(code) && /\bstart ?\(/.test(code));
}

/** A program that serves by itself, or an `app` that a server of its dependencies serves. */
function findServer(sources: readonly Source[], packages: PythonPackages): Entry | null {
  const names = [/(?:^|\/)main\.py$/, /(?:^|\/)app\.py$/, /(?:^|\/)server\.py$/];
  const program = onlyOne(
    sources.filter(({ code }) => SERVES_ITSELF.test(code)),
    names,
    'start an HTTP server',
  );
  if (program) return { kind: 'program', command: ['python', '-u', program.path] };
  const source = onlyOne(
    sources.filter(({ code }) => findApp(code) !== undefined),
    names,
    'define an HTTP app',
  );
  if (!source) return null;
  const [, app, framework] = findApp(source.code)!;
  const name = `${source.path.replace(/\.py$/, '').replaceAll('/', '.')}:${app}`;
  return {
    kind: 'program',
    command: ['sh', '-c', `exec python -m ${serverOf(framework!, name, source.path, packages)}`],
  };
}

function serverOf(framework: string, name: string, path: string, { names, lockFiles }: PythonPackages): string {
  const port = `"\${PORT:-80}"`;
  if (framework === 'Flask') {
    if (names.has('gunicorn')) return `gunicorn ${name} --bind 0.0.0.0:${port}`;
    if (names.has('flask')) return `flask --app ${name} run --host 0.0.0.0 --port ${port}`;
    throw new Failure(
      'unprocessable',
      `${path} is a Flask app, but ${whereText(lockFiles)} has no flask: add it, or gunicorn`,
    );
  }
  if (names.has('uvicorn')) return `uvicorn ${name} --host 0.0.0.0 --port ${port}`;
  throw new Failure(
    'unprocessable',
    `${path} is a ${framework} app, but ${whereText(lockFiles)} has no uvicorn, which serves it: add it`,
  );
}

const whereText = (files: readonly string[]) => files[0] ?? 'the folder, which has no requirements.txt,';

/** Refuses a version on which the kit, which serves a handler, does not run. */
function checkVersion(version: string | null, where: string): void {
  if (version === null || Number(version.split('.')[1]) >= KIT_MINOR) return;
  throw new Failure(
    'unprocessable',
    `${where} asks for Python ${version}, and the worker kit that serves the handler needs 3.${KIT_MINOR} or newer`,
  );
}

/** Reads `.python-version`, as other tools do. */
async function pinnedVersion({ paths, read }: FolderListing): Promise<string | null> {
  if (!paths.includes('.python-version')) return null;
  return /^\s*(3\.\d{1,2})/.exec(await read('.python-version'))?.[1] ?? null;
}
