import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

/** A server that systemd runs on this machine, as release/podyard.service says. */
export interface SystemdUnit {
  /** The unit's file. */
  path: string;
  /** The variables that the server gets, with those that its other settings amount to. */
  env: Record<string, string>;
  /** The user that runs it; null: root. */
  user: string | null;
  /** Files with variables that this user may not read. */
  unreadable: string[];
}

const NAME = 'podyard.service';
/** Where systemd looks; the first one that has the unit counts, and before all that of the user's own systemd. */
const FOLDERS = ['etc', 'run', 'usr/local/lib', 'usr/lib', 'lib'].map((folder) => `${folder}/systemd/system`);

/** Reads the unit `podyard` with its drop-ins; null if there is none. `root`: of the file system, below which `home` is. */
export async function readSystemdUnit(root = '/', home = homedir()): Promise<SystemdUnit | null> {
  const folders = [join(home, '.config/systemd/user'), ...FOLDERS].map((folder) => join(root, folder));
  const texts = await Promise.all(folders.map((folder) => readIfThere(join(folder, NAME))));
  const at = texts.findIndex((text) => text !== null);
  if (at < 0) return null;
  const settings = [texts[at]!, ...(await readDropIns(folders))].flatMap(readSettings);
  const all = (name: string) => settings.filter((setting) => setting.name === name).map(({ value }) => value);
  const env: Record<string, string> = {};
  const folder = all('WorkingDirectory').at(-1);
  if (folder !== undefined) env.PODYARD_DATA_DIR = join(folder, '.podyard');
  for (const assignments of all('Environment')) Object.assign(env, readAssignments(assignments));
  const unreadable: string[] = [];
  for (const file of all('EnvironmentFile')) {
    const path = file.replace(/^-/, '');
    const text = await readIfThere(join(root, path)).catch(() => unreadable.push(path));
    if (typeof text === 'string') Object.assign(env, parseEnv(text));
  }
  Object.assign(env, readFlags(all('ExecStart').at(-1) ?? ''));
  return { path: join(folders[at]!, NAME), env, user: all('User').at(-1) ?? null, unreadable };
}

/** Returns the text of a file; null if there is none. Throws if it may not be read. */
async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
}

/** Drop-ins are read in the order of their names; of those with the same name the first folder's counts. */
async function readDropIns(folders: readonly string[]): Promise<string[]> {
  const paths = new Map<string, string>();
  for (const folder of folders.map((one) => join(one, `${NAME}.d`))) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (name.endsWith('.conf') && !paths.has(name)) paths.set(name, join(folder, name));
  }
  const inOrder = [...paths].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return (await Promise.all(inOrder.map(([, path]) => readIfThere(path)))).flatMap((text) => text ?? []);
}

function readSettings(text: string): { name: string; value: string }[] {
  const lines = text.replace(/\\\n/g, ' ').split('\n');
  return lines.flatMap((line) => {
    const at = line.indexOf('=');
    const [name, value] = [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()];
    return name === '' || value === '' ? [] : [{ name, value }];
  });
}

/** Reads `A=1 "B=two words"`. */
function readAssignments(text: string): Record<string, string> {
  const words = [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!,
  );
  const pairs = words.map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);
  return Object.fromEntries(pairs);
}

/** Returns the variables that options of the server stand for: an option wins over its variable. */
function readFlags(command: string): Record<string, string> {
  const given = (flag: string) => new RegExp(`\\s${flag}[= ]["']?([^\\s"']+)`).exec(command)?.[1];
  const [dataDir, databaseUrl] = [given('--data-dir'), given('--database-url')];
  return { ...(dataDir && { PODYARD_DATA_DIR: dataDir }), ...(databaseUrl && { PODYARD_DATABASE_URL: databaseUrl }) };
}
