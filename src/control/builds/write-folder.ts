import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { Db } from '../../db/pool.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { readFile, readPack } from '../../domain/builds/build-files.ts';
import { kitFiles } from '../../domain/builds/kit-files.ts';
import { inPacks } from '../../domain/builds/packs.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';

/** Files that are written at once. */
const WRITERS = 8;

type FileEntry = Extract<FolderEntry, { digest: string }>;

/**
 * Writes the folder of a build, which must not exist, with the worker kit that its recipe needs. `entries` were checked by
 * checkFolder. Whether a file is executable is kept; the other modes are ours. Throws `unprocessable` if a file is not kept any more.
 */
export async function writeFolder(...given: Parameters<typeof writeAll>): Promise<void> {
  try {
    await writeAll(...given);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw new Failure('unavailable', 'The disk of the server is full: the folder could not be written.', {
      cause: error,
    });
  }
}

async function writeAll(
  db: Db,
  { userId, recipe, entries }: { userId: UserId; recipe: Recipe; entries: readonly FolderEntry[] },
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  const made = new Set<string>([folder]);
  const makeParents = async (path: string) => {
    const parent = dirname(path);
    if (made.has(parent)) return;
    await mkdir(parent, { recursive: true, mode: 0o755 });
    made.add(parent);
  };
  for (const pack of inPacks(entries.filter((one) => 'digest' in one))) {
    for (const { path } of pack) await makeParents(join(folder, path));
    await writePack(db, { userId, folder, pack }, signal);
  }
  for (const { path, source } of kitFiles(recipe)) {
    await makeParents(join(folder, path));
    await copyFile(source, join(folder, path));
  }
  // Last: nothing is written through a link.
  for (const entry of entries.filter((one) => 'link' in one)) {
    const path = join(folder, entry.path);
    await makeParents(path);
    await symlink(entry.link, path);
  }
}

async function writePack(
  db: Db,
  { userId, folder, pack }: { userId: UserId; folder: string; pack: readonly FileEntry[] },
  signal: AbortSignal,
): Promise<void> {
  if (pack.length === 1) {
    const [file] = pack as [FileEntry];
    const out = createWriteStream(join(folder, file.path), { flags: 'wx', mode: modeOf(file) });
    return pipeline(readKept(db, userId, file), out, { signal });
  }
  const contents = await readPack(
    db,
    userId,
    pack.map(({ digest }) => digest),
  ).catch((error) => {
    throw databaseFailure(error) ?? error;
  });
  signal.throwIfAborted();
  const pending = pack.values();
  const write = async () => {
    for (const file of pending) {
      const content = contents.get(file.digest);
      if (content === undefined) throw notKept(file.path);
      await writeFile(join(folder, file.path), content, { flag: 'wx', mode: modeOf(file) });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

const modeOf = ({ mode }: FileEntry) => ((mode & 0o100) === 0 ? 0o644 : 0o755);

async function* readKept(db: Db, userId: UserId, { path, digest }: { path: string; digest: string }) {
  try {
    yield* readFile(db, userId, digest);
  } catch (cause) {
    if (!(cause instanceof Failure && cause.kind === 'notFound')) throw databaseFailure(cause) ?? cause;
    throw notKept(path, cause);
  }
}

function notKept(path: string, cause?: unknown): Failure {
  return new Failure('unprocessable', `The file '${path}' is not kept any more: deploy again.`, { cause });
}
