import { Failure } from '../../core/errors.ts';
import type { FolderEntry } from './build.ts';

/** Files and links of a folder. */
export const MAX_FOLDER_ENTRIES = 20_000;
export const MAX_FILE_BYTES = 512 * 2 ** 20;
export const MAX_FOLDER_BYTES = 2 * 2 ** 30;
export const MAX_PATH_LENGTH = 1_024;
/** As file systems limit it, in bytes. */
const MAX_NAME_BYTES = 255;
/** Podyard's own files get there. */
const RESERVED = '.podyard';
const MAX_FAULTS = 20;

/**
 * Checks that a folder can be written as it is described, with nothing outside of it: a path names one thing, what has files in
 * it is not a file or a link itself, and links lead inward. Throws `unprocessable` with every fault, at most 20.
 */
export function checkFolder(entries: readonly FolderEntry[]): void {
  const faults = [...findFaults(entries)].slice(0, MAX_FAULTS);
  const bytes = entries.reduce((sum, entry) => sum + ('size' in entry ? entry.size : 0), 0);
  if (bytes > MAX_FOLDER_BYTES) {
    faults.unshift(
      `/files: the folder has ${bytes} bytes, and may have ${MAX_FOLDER_BYTES} (2 GiB): leave large files out`,
    );
  }
  if (faults.length > 0) throw new Failure('unprocessable', 'The folder cannot be built.', { errors: faults });
}

function* findFaults(entries: readonly FolderEntry[]): Generator<string> {
  const paths = new Set<string>();
  for (const [i, entry] of entries.entries()) {
    const fault = pathFault(entry.path) ?? (paths.has(entry.path) ? 'is listed twice' : null) ?? linkFault(entry);
    if (fault !== null) yield `/files/${i}: '${entry.path}' ${fault}`;
    paths.add(entry.path);
  }
  for (const [i, { path }] of entries.entries()) {
    const parent = parentsOf(path).find((above) => paths.has(above));
    if (parent !== undefined) yield `/files/${i}: '${path}' is in '${parent}', which is a file or a link`;
  }
}

function pathFault(path: string): string | null {
  if (path.startsWith('/')) return 'is absolute: give its path in the folder';
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..')) return "has an empty name, '.' or '..' in it";
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES))
    return `has a name of more than ${MAX_NAME_BYTES} bytes`;
  return names[0] === RESERVED ? `is in '${RESERVED}', which is reserved` : null;
}

/**
 * A link may begin with '..', as often as it is deep, and has none later: the folders above it are not links, and where its names lead
 * through other links, those lead inward as well. So no chain of links leaves the folder.
 */
function linkFault(entry: FolderEntry): string | null {
  if (!('link' in entry)) return null;
  if (entry.link.startsWith('/')) return `is a link to '${entry.link}', outside of the folder`;
  const names = entry.link.split('/').filter((name) => name !== '' && name !== '.');
  const first = names.findIndex((name) => name !== '..');
  const ups = first === -1 ? names.length : first;
  if (ups > entry.path.split('/').length - 1) return `is a link to '${entry.link}', outside of the folder`;
  return names.lastIndexOf('..') >= ups ? `is a link to '${entry.link}', which has '..' after a name` : null;
}

function parentsOf(path: string): string[] {
  const parents = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}
