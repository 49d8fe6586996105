import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { trimSlashes } from '../../core/trim-slashes.ts';
import type { Terminal } from './terminal.ts';

/** A server and a key for it. */
export interface Target {
  url: string;
  key: string;
}

interface ContextsFile {
  current: string | null;
  contexts: Record<string, Target>;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Returns the server to talk to: from PODYARD_URL and PODYARD_API_KEY, or else the named or current context. */
export async function findTarget(terminal: Terminal, name: string | undefined): Promise<Target> {
  const { PODYARD_URL: url, PODYARD_API_KEY: key } = terminal.env;
  if (key && name === undefined) return { url: trimSlashes(url ?? DEFAULT_URL), key };
  const file = await readContexts(terminal);
  const wanted = name ?? file.current;
  const found = wanted === null ? undefined : file.contexts[wanted];
  if (found) return found;
  if (name !== undefined) throw new Error(`there is no context '${name}': \`podyard contexts\` lists them`);
  throw new Error('no server is configured: run `podyard login`; in scripts, set PODYARD_URL and PODYARD_API_KEY');
}

export async function readContexts(terminal: Terminal): Promise<ContextsFile> {
  const path = contextsPath(terminal);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return { current: null, contexts: {} };
  try {
    return JSON.parse(text) as ContextsFile;
  } catch {
    throw new Error(`${path} is not valid JSON: fix it, or delete it and sign in again`);
  }
}

/** Adds or replaces a context and makes it the current one. */
export async function saveContext(terminal: Terminal, name: string, target: Target): Promise<void> {
  const { contexts } = await readContexts(terminal);
  await writeContexts(terminal, { current: name, contexts: { ...contexts, [name]: target } });
}

export async function useContext(terminal: Terminal, name: string): Promise<void> {
  const file = await readContexts(terminal);
  if (!file.contexts[name]) throw new Error(`there is no context '${name}': \`podyard contexts\` lists them`);
  await writeContexts(terminal, { ...file, current: name });
}

export async function removeContext(terminal: Terminal, name: string): Promise<void> {
  const { current, contexts } = await readContexts(terminal);
  if (!contexts[name]) throw new Error(`there is no context '${name}'`);
  const { [name]: _, ...others } = contexts;
  await writeContexts(terminal, {
    current: current === name ? (Object.keys(others)[0] ?? null) : current,
    contexts: others,
  });
}

/** Writes the file for its owner alone, since it holds keys. */
async function writeContexts(terminal: Terminal, file: ContextsFile): Promise<void> {
  const path = contextsPath(terminal);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}

function contextsPath({ env }: Terminal): string {
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'podyard', 'contexts.json');
}
