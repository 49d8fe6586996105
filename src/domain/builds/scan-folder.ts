import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { lstat, opendir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { notUtf8 } from '../../core/text/not-utf8.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { FolderEntry } from './build.ts';
import { MAX_FOLDER_BYTES, MAX_FOLDER_ENTRIES } from './check-folder.ts';

/** A file or link of the folder, by its path in it, with slashes. */
export interface FoundFile {
  path: string;
  isLink: boolean;
  size: number;
  mode: number;
}

/** The contents of a folder that a build looks at. */
export interface Scan {
  files: FoundFile[];
  /** Files that look like secrets, and were left out. */
  secrets: string[];
  /** Sockets, devices and pipes, which no image can have. */
  odd: string[];
}

/** Podyard's own folder: the data of a server that was started here. Git's is not part of the code either. */
const NEVER = new Set(['.git', '.podyard']);
/** They say what is deployed, and are not part of it: a new setting builds nothing. */
const PROJECT = new Set(['podyard.yaml', 'podyard.yml']);
/** Folders that installers and interpreters write. */
const INSTALLED = new Set(['node_modules', '.venv', '__pycache__']);
const NO_SECRET = /\.(?:example|sample|template|dist)$/;
const SECRET =
  /^(?:\.env(?:\..+)?|.+\.(?:pem|key|p12|pfx|jks)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.netrc|\.pypirc|\.git-credentials)$/i;
const AT_ONCE = 8;

/**
 * Lists what the folder has for a build: everything but what its .gitignore files and its .dockerignore leave out, what installers
 * write (unless `withInstalled`), and files that look like secrets. Follows no links. A line `!<path>` in .dockerignore brings a file
 * back. Throws a `UsageError` for a folder that cannot be read, or is too large.
 */
export async function scanFolder(root: string, { withInstalled }: { withInstalled: boolean }): Promise<Scan> {
  const found = await stat(root).catch(() => null);
  if (!found?.isDirectory()) throw new UsageError(`${root} is not a folder`);
  const docker = await readRules(join(root, '.dockerignore'), rooted);
  const scan: Scan = { files: [], secrets: [], odd: [] };
  await walk({ root, docker, withInstalled, scan }, '', []);
  scan.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const bytes = scan.files.reduce((sum, { size }) => sum + size, 0);
  if (bytes > MAX_FOLDER_BYTES) {
    const largest = scan.files.toSorted((a, b) => b.size - a.size).slice(0, 3);
    const names = largest.map(({ path, size }) => `${path} (${Math.round(size / 2 ** 20)} MiB)`).join(', ');
    throw new UsageError(
      `the folder has more than 2 GiB: leave large files out with .dockerignore. The largest are ${names}`,
    );
  }
  return scan;
}

interface Walk {
  root: string;
  docker: Ignore | null;
  withInstalled: boolean;
  scan: Scan;
}

/** Rules of the .gitignore files above, each with the folder that its patterns are relative to. */
type GitRules = readonly { folder: string; rules: Ignore }[];

async function walk(context: Walk, folder: string, above: GitRules): Promise<void> {
  const { root, scan } = context;
  const own = await readRules(join(root, folder, '.gitignore'), (line) => line);
  const git = own === null ? above : [...above, { folder, rules: own }];
  const unreadable = (error: NodeJS.ErrnoException) => {
    throw new UsageError(`${folder || '.'} cannot be read: ${error.code}`);
  };
  const entries = await opendir(join(root, folder), { bufferSize: 512 }).catch(unreadable);
  for await (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (PROJECT.has(path)) continue;
    if (entry.isDirectory() ? isFolderLeftOut(context, entry.name, path, git) : isIgnored(context, path, git)) continue;
    const isBack = context.docker?.test(`${path}/`).unignored === true; // with all that is in it
    if (entry.isDirectory()) await walk(context, path, isBack ? [] : git);
    else await add(context, entry, path);
    if (scan.files.length + scan.secrets.length + scan.odd.length > MAX_FOLDER_ENTRIES) refuseMany(scan);
  }
}

/** Names the folder that has most of what was found until here. */
function refuseMany({ files, secrets, odd }: Scan): never {
  const counts = new Map<string, number>();
  for (const path of [...files.map((file) => file.path), ...secrets, ...odd]) {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const [[fullest, count]] = [...counts].sort(([, one], [, other]) => other - one) as [[string, number]];
  throw new UsageError(
    `the folder has more than ${MAX_FOLDER_ENTRIES} files: leave some out with .dockerignore. ${fullest || '.'} alone has ${count} or more`,
  );
}

/** Returns whether `scanFolder` would go into a folder, which need not be there. */
export async function isFolderWanted(root: string, path: string): Promise<boolean> {
  const docker = await readRules(join(root, '.dockerignore'), rooted);
  let git: GitRules = [];
  let at = '';
  for (const name of path.split('/')) {
    const own = await readRules(join(root, at, '.gitignore'), (line) => line);
    if (own !== null) git = [...git, { folder: at, rules: own }];
    at = at === '' ? name : `${at}/${name}`;
    if (isFolderLeftOut({ root, docker, withInstalled: true }, name, at, git)) return false;
    if (docker?.test(`${at}/`).unignored) git = [];
  }
  return true;
}

async function add({ root, docker, scan }: Walk, entry: Dirent, path: string): Promise<void> {
  if (!entry.isFile() && !entry.isSymbolicLink()) {
    scan.odd.push(path);
    return;
  }
  const isSecret = SECRET.test(entry.name) && !NO_SECRET.test(entry.name);
  if (isSecret && !docker?.test(path).unignored) {
    scan.secrets.push(path);
    return;
  }
  const { size, mode } = await lstat(join(root, path)).catch((error: NodeJS.ErrnoException) => {
    if (entry.name.includes('\ufffd')) throw notUtf8(path);
    throw new UsageError(`${path} cannot be read: ${error.code}`);
  });
  const isLink = entry.isSymbolicLink();
  scan.files.push({ path, isLink, size: isLink ? 0 : size, mode: mode & 0o777 });
}

function isFolderLeftOut(context: Omit<Walk, 'scan'>, name: string, path: string, git: GitRules): boolean {
  if (NEVER.has(path) || name === '.git') return true;
  if (INSTALLED.has(name) && !context.withInstalled) return true;
  return isIgnored(context, `${path}/`, git);
}

function isIgnored({ docker }: Pick<Walk, 'docker'>, path: string, git: GitRules): boolean {
  const said = docker?.test(path);
  if (said?.ignored) return true;
  if (said?.unignored) return false;
  let isOut = false;
  for (const { folder, rules } of git) {
    const result = rules.test(folder === '' ? path : path.slice(folder.length + 1));
    isOut = result.ignored || (isOut && !result.unignored);
  }
  return isOut;
}

async function readRules(path: string, toLine: (line: string) => string): Promise<Ignore | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw new UsageError(`${path} cannot be read: ${error.code}`); // else what it leaves out would be sent
  });
  if (text === null) return null;
  return ignore().add(text.split(/\r?\n/).map(toLine));
}

/** A pattern of .dockerignore is one of .gitignore that begins at the root. */
function rooted(line: string): string {
  const pattern = line.trim();
  if (pattern === '' || pattern.startsWith('#')) return '';
  const [not, rest] = pattern.startsWith('!') ? ['!', pattern.slice(1).trim()] : ['', pattern];
  return `${not}/${rest.replace(/^(?:\.?\/)+/, '')}`;
}

/** Hashes the files, a few at a time. Throws a `UsageError` for one that cannot be read. */
export async function hashFiles(root: string, files: readonly FoundFile[]): Promise<FolderEntry[]> {
  const entries: FolderEntry[] = [];
  const queue = files.entries();
  const work = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, file] of queue) entries[index] = await toEntry(root, file);
  });
  await Promise.all(work);
  return entries;
}

async function toEntry(root: string, { path, isLink, mode }: FoundFile): Promise<FolderEntry> {
  try {
    if (isLink) return { path, link: await readlink(join(root, path)) };
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of createReadStream(join(root, path))) {
      hash.update(chunk as Buffer);
      size += (chunk as Buffer).length;
    }
    return { path, digest: hash.digest('hex'), size, mode };
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
