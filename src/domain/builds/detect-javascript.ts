import { Failure } from '../../core/errors.ts';
import { blankJavaScript } from './blank-text.ts';
import { nodeFlags } from './dockerfile-of.ts';
import {
  type FolderListing,
  onlyOne,
  type RecipeWishes,
  readHandler,
  readSources,
  type Source,
  squeezed,
} from './folder-listing.ts';
import { findNodePackages, type Manifest, readManifest } from './node-packages.ts';
import type { Recipe } from './recipe.ts';

type Entry = NonNullable<Recipe['entry']>;

const EXTENSION = /\.[cm]?[jt]s$/;
/** Files that never have the entry: tests, types, settings of tools, and a copy of the kit. */
const NO_SOURCE =
  /\.d\.[cm]?ts$|\.(?:test|spec|config|setup)\.[cm]?[jt]s$|(?:^|\/)(?:podyard-worker|\.[^/]*)\.[cm]?[jt]s$/;
const KIT =
  /\b(?:from|import|require)(?: |\(|\( )?['"](?:podyard\/worker|(?:\.{1,2}\/)[\w./-]{0,200}podyard-worker(?:\.[cm]?js)?)['"]/g;
const DEFAULT = /^ ?export default\b|^ ?module\.exports ?=/m;
const NAMED = /^ ?export (?:async )?(?:function ?\*? ?|const |let |var )handler\b|\bexports\.handler ?=/m;
/** Where a list of exports begins. */
const LISTED = /^ ?export ?\{|\bmodule\.exports ?= ?\{/gm;
const LISTENS = /\. ?listen ?\(|\bBun\.serve ?\(/;
const STARTS = /\bstart ?[(<]/;
const NAMES = [/(?:^|\/)handler\.[cm]?[jt]s$/, /(?:^|\/)index\.[cm]?[jt]s$/];

/** Returns the recipe of a folder in JavaScript or TypeScript; null if it has no entry. Throws `unprocessable`. */
export async function detectJavaScript(folder: FolderListing, wishes: RecipeWishes): Promise<Recipe | null> {
  const isSource = (path: string) => EXTENSION.test(path) && !NO_SOURCE.test(path) && !path.includes('node_modules/');
  const sources = await readSources(folder, isSource, blankJavaScript);
  const manifest = await readManifest(folder);
  const isNamed = wishes.handler !== undefined && EXTENSION.test(wishes.handler.split(':', 1)[0]!);
  if (wishes.handler !== undefined && !isNamed) return null;
  if (sources.length === 0 && manifest === null && !isNamed) return null;
  if (wishes.command !== undefined && manifest === null && !/^(?:node|npm|npx|tsx)$/.test(wishes.command[0] ?? ''))
    return null;
  const entry = await findEntry(folder, sources, wishes, manifest);
  if (entry === null) return null;
  const packages = await findNodePackages(folder, manifest);
  return {
    language: 'javascript',
    dockerfile: null,
    target: null,
    base: wishes.base ?? null,
    version: wishes.node ?? (await pinnedVersion(folder)),
    ...packages,
    systemPackages: [...(wishes.systemPackages ?? [])],
    secretIds: [...(wishes.secretIds ?? [])],
    buildCommand: needsBuild(entry, manifest) ? ['npm', 'run', 'build'] : null,
    entry,
  };
}

/** True if package.json starts a file that its `build` makes. A file that runs as it is needs no build. */
function needsBuild(entry: Entry, manifest: Manifest | null): boolean {
  return (
    manifest?.scripts.build !== undefined &&
    entry.kind === 'program' &&
    !entry.command.includes('--experimental-transform-types')
  );
}

async function findEntry(
  folder: FolderListing,
  sources: readonly Source[],
  { serves, handler, command }: RecipeWishes,
  manifest: Manifest | null,
): Promise<Entry | null> {
  if (command !== undefined) return { kind: 'program', command: [...command] };
  if (handler !== undefined) return namedHandler(folder, handler);
  const start = startScript(manifest);
  if (serves === 'requests') {
    return (
      start ??
      runFile(
        onlyOne(
          sources.filter(({ code }) => LISTENS.test(code)),
          SERVER_NAMES,
          'start an HTTP server',
        ),
      )
    );
  }
  const starter = onlyOne(sources.filter(startsKit), [...NAMES, /(?:^|\/)worker\.[cm]?[jt]s$/], 'start a worker');
  if (starter) return manifest?.scripts.build !== undefined && start ? start : runFile(starter);
  return findHandler(sources) ?? (sources.some(({ code }) => LISTENS.test(code)) ? null : start);
}

const SERVER_NAMES = [/(?:^|\/)server\.[cm]?[jt]s$/, /(?:^|\/)index\.[cm]?[jt]s$/, /(?:^|\/)app\.[cm]?[jt]s$/];

async function namedHandler({ paths, read }: FolderListing, handler: string): Promise<Entry | null> {
  const { file, name } = readHandler(handler, 'default');
  if (!paths.includes(file)) return null;
  const code = squeezed(blankJavaScript(await read(file)));
  const isThere = name === 'default' ? DEFAULT.test(code) : new RegExp(`\\b${name.replace(/\W/g, '')}\\b`).test(code);
  if (isThere) return { kind: 'handler', file, name };
  const how = name === 'default' ? 'no default export: name a function, as in' : `no ${name}: name another, as in`;
  throw new Failure('unprocessable', `build.handler is '${handler}', but ${file} has ${how} ${file}:run`);
}

function findHandler(sources: readonly Source[]): Entry | null {
  const candidates = sources.flatMap((source) => {
    const { path, code } = source;
    if (LISTENS.test(code)) return [];
    if (exportsHandler(code)) return [{ path, name: 'handler' }];
    const isEntry = NAMES.some((pattern) => pattern.test(path)) || sources.length === 1;
    return isEntry && DEFAULT.test(code) ? [{ path, name: 'default' }] : [];
  });
  const found = onlyOne(candidates, NAMES.slice(0, 1), 'export a handler');
  return found ? { kind: 'handler', file: found.path, name: found.name } : null;
}

function exportsHandler(code: string): boolean {
  if (NAMED.test(code)) return true;
  return [...code.matchAll(LISTED)].some(({ index }) => /\bhandler\b/.test(code.slice(index).split('}', 1)[0]!));
}

/** True if it imports the kit: in code, not in a comment or a string. */
function startsKit({ text, code }: Source): boolean {
  if (!STARTS.test(code)) return false;
  const imports = [...text.matchAll(KIT)];
  const blanked = imports.length > 0 ? blankJavaScript(text) : '';
  return imports.some(({ index }) => blanked[index] !== ' ');
}

function runFile(source: Source | undefined): Entry | null {
  return source ? { kind: 'program', command: ['node', ...nodeFlags(source.path), source.path] } : null;
}

/** A simple command runs without npm in between, which would not pass signals on. */
function startScript(manifest: Manifest | null): Entry | null {
  const start = manifest?.scripts.start;
  if (start === undefined) return null;
  const isSimple = /^[\w@%+=:,./ -]+$/.test(start) && !/^\w+=/.test(start);
  return { kind: 'program', command: isSimple ? start.trim().split(/ +/) : ['sh', '-c', start] };
}

/** Reads `.nvmrc` or `.node-version`, as other tools do. */
async function pinnedVersion({ paths, read }: FolderListing): Promise<string | null> {
  const file = ['.nvmrc', '.node-version'].find((name) => paths.includes(name));
  return file === undefined ? null : (/^\s*v?(\d{2})\b/.exec(await read(file))?.[1] ?? null);
}
