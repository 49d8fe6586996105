import { Failure } from '../../core/errors.ts';

/** The folder that is to be built: its files and links, without what is left out of the build. */
export interface FolderListing {
  /** With `/`, relative to the folder, such as `src/handler.py`. */
  paths: readonly string[];
  /** Returns a file's text. */
  read(path: string): Promise<string>;
}

/** The user's settings of the build (`build` in podyard.yaml). Absent ones are detected. */
export interface RecipeWishes {
  /** The workers take jobs from a queue, or answer HTTP requests. */
  serves: 'jobs' | 'requests';
  dockerfile?: string;
  target?: string;
  base?: string;
  /** Versions of the languages. */
  python?: string;
  node?: string;
  systemPackages?: readonly string[];
  /** Names of build secrets. */
  secretIds?: readonly string[];
  /** `<file>` or `<file>:<name>` of the function that handles jobs. */
  handler?: string;
  /** The program to start instead. */
  command?: readonly string[];
}

/** A source file: its text, and its code alone, in which comments and strings are blank and blanks are one space. */
export interface Source {
  path: string;
  text: string;
  code: string;
}

/** Larger ones are data. */
const MAX_SOURCE_CHARS = 1_000_000;

/**
 * Reads the files that may have the entry: those at the top, or else those one folder below. `isSource` leaves out tests and
 * other languages.
 */
export async function readSources(
  { paths, read }: FolderListing,
  isSource: (path: string) => boolean,
  blank: (text: string) => string,
): Promise<Source[]> {
  const sources = paths.filter(isSource);
  const [top, below] = [0, 1].map((depth) => sources.filter((path) => path.split('/').length - 1 === depth));
  const chosen = top!.length > 0 ? top! : below!.filter((path) => !/^(?:tests?|docs?|examples?|scripts)\//.test(path));
  return Promise.all(
    chosen.map(async (path) => {
      const text = (await read(path)).slice(0, MAX_SOURCE_CHARS);
      return { path, text, code: squeezed(blank(text)) };
    }),
  );
}

/** Replaces blanks in a line by one space, so that patterns need not repeat them. */
export function squeezed(code: string): string {
  return code.replaceAll(/[ \t]+/g, ' ');
}

/** Parses `file` or `file:name` of build.handler. */
export function readHandler(handler: string, byDefault: string): { file: string; name: string } {
  const [file, name = byDefault, more] = handler.split(':');
  if (file && name && more === undefined) return { file: file.replace(/^\.\//, ''), name };
  throw new Failure(
    'unprocessable',
    `build.handler is '${handler}', but must be a file, or a file and a function as in src/app.py:handler`,
  );
}

/** Returns the only one; `preferred` if it is among them; undefined if there is none. Throws if several could be meant. */
export function onlyOne<T extends { path: string }>(
  found: readonly T[],
  preferred: readonly RegExp[],
  what: string,
): T | undefined {
  if (found.length <= 1) return found[0];
  for (const pattern of preferred) {
    const [one, another] = found.filter(({ path }) => pattern.test(path));
    if (one !== undefined && another === undefined) return one;
  }
  const names = found.map(({ path }) => path);
  throw new Failure(
    'unprocessable',
    `${names.slice(0, 5).join(' and ')} each ${what}: say which one to serve with build.handler or build.command in podyard.yaml`,
  );
}
