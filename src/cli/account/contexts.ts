import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { makeFolder } from '../../core/files/make-folder.ts';
import { didYouMean } from '../../core/text/closest.ts';
import { trimSlashes } from '../../core/text/trim-slashes.ts';
import { UsageError } from '../../core/usage-error.ts';
import { ApiRefusal, type Target } from '../shared/api-client.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface ContextsFile {
  current: string | null;
  contexts: Record<string, Target>;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';
const NO_SERVER =
  'you are not signed in to a server. To start one on this machine, run `npx podyard`, which prints its first key; to use ' +
  'one that runs, sign in with `podyard login <url>`; in scripts, set PODYARD_URL and PODYARD_API_KEY';

/** Returns the server to talk to: from PODYARD_URL and PODYARD_API_KEY, or else the named or current context. */
export async function findTarget(terminal: Terminal, name: string | undefined): Promise<Target> {
  const { PODYARD_URL, PODYARD_API_KEY: key } = terminal.env;
  const url = PODYARD_URL ? trimSlashes(PODYARD_URL) : undefined;
  if (url !== undefined && !URL.canParse(url)) throw new UsageError(`PODYARD_URL is '${url}', but must be a URL`);
  if (key && name === undefined) return { url: url ?? DEFAULT_URL, key };
  const file = await readContexts(terminal);
  if (url !== undefined && name === undefined) return knownTarget(file, url);
  const wanted = name ?? file.current;
  const found = wanted === null ? undefined : file.contexts[wanted];
  if (found) return found;
  if (name !== undefined) throw unknownContext(name, file);
  throw new ApiRefusal(401, NO_SERVER);
}

/** Returns the saved context of the server that PODYARD_URL names: never the key of another one. */
function knownTarget({ contexts }: ContextsFile, url: string): Target {
  const found = Object.values(contexts).find((context) => context.url === url);
  if (found) return found;
  throw new ApiRefusal(
    401,
    `you are not signed in to ${url}: run \`podyard login ${url}\`, or set PODYARD_API_KEY to one of its keys`,
  );
}

export async function readContexts(terminal: Terminal): Promise<ContextsFile> {
  const path = contextsPath(terminal);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{"contexts": {}}';
    throw error;
  });
  const { current = null, contexts } = parseContexts(text) ?? {};
  if (typeof contexts !== 'object' || contexts === null)
    throw new Error(`${path} does not hold contexts as JSON: mend it, or delete it and sign in again`);
  return { current, contexts: Object.assign(Object.create(null), contexts) }; // so that no name is there by itself
}

function parseContexts(text: string): Partial<ContextsFile> | null {
  try {
    return JSON.parse(text) as Partial<ContextsFile> | null;
  } catch {
    return null;
  }
}

/** Adds or replaces a context and makes it the current one. */
export async function saveContext(terminal: Terminal, name: string, target: Target): Promise<void> {
  const { contexts } = await readContexts(terminal);
  await writeContexts(terminal, { current: name, contexts: { ...contexts, [name]: target } });
}

export async function useContext(terminal: Terminal, name: string): Promise<void> {
  const file = await readContexts(terminal);
  if (!file.contexts[name]) throw unknownContext(name, file);
  await writeContexts(terminal, { ...file, current: name });
}

/** Resolves with all contexts. Throws if there is none of this name. */
export async function requireContext(terminal: Terminal, name: string): Promise<ContextsFile> {
  const file = await readContexts(terminal);
  if (!file.contexts[name]) throw unknownContext(name, file);
  return file;
}

function unknownContext(name: string, { contexts }: ContextsFile): Error {
  return new Error(
    `there is no context '${name}': \`podyard contexts\` lists them${didYouMean(name, Object.keys(contexts))}`,
  );
}

export async function removeContext(terminal: Terminal, name: string): Promise<void> {
  const { current, contexts } = await requireContext(terminal, name);
  const { [name]: _, ...others } = contexts;
  await writeContexts(terminal, {
    current: current === name ? (Object.keys(others)[0] ?? null) : current,
    contexts: others,
  });
}

/** Writes the file for its owner alone, since it holds keys. */
async function writeContexts(terminal: Terminal, file: ContextsFile): Promise<void> {
  const path = contextsPath(terminal);
  const temporary = `${path}.${process.pid}`;
  try {
    await makeFolder(dirname(path), 0o700);
    await writeFile(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    // As in the container of the server, whose files are read-only.
    const why = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    throw new Error(
      `the sign-in cannot be saved in ${path} (${why}): set PODYARD_URL and PODYARD_API_KEY instead, or XDG_CONFIG_HOME to another folder`,
      { cause: error },
    );
  }
}

function contextsPath({ env }: Terminal): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'podyard', 'contexts.json');
}
