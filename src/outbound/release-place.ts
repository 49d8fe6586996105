/** Where an operator keeps releases: an archive, or a folder of archives with their SHA256SUMS; a path or a URL. */
import { createWriteStream } from 'node:fs';
import { copyFile, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export const SUMS = 'SHA256SUMS';
const REQUEST_TIMEOUT_MS = 30_000;
/** The most that is read of a URL into memory. */
const MAX_BYTES = 2 ** 20;

/** Resolves with the version of the newest archive for this machine's processor. Rejects with a sentence if there is none. */
export async function readNewestVersion(from: string): Promise<string> {
  const place = openPlace(from);
  return newestArchive((await place.read(SUMS)).toString(), place.archive).version;
}

export interface Place {
  /** The name of the archive, if the place is one. */
  archive: string | null;
  /** For small files: of a URL, at most 1 MiB. */
  read(name: string): Promise<Buffer>;
  copy(name: string, to: string): Promise<void>;
}

/** Opens nothing yet: each read says in a sentence why it failed. */
export function openPlace(from: string): Place {
  const archive = from.endsWith('.tar.gz') ? from.slice(from.lastIndexOf('/') + 1) : null;
  if (/^https?:\/\//.test(from))
    return openRemote(archive === null ? from : from.slice(0, from.lastIndexOf('/')), archive);
  const folder = resolve(archive === null ? from : dirname(from));
  const explained = <T>(name: string, read: Promise<T>): Promise<T> =>
    read.catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
      throw new Error(`there is no ${join(folder, name)}: --from names an archive, or the directory that has it`);
    });
  return {
    archive,
    read: (name) => explained(name, readFile(join(folder, name))),
    copy: (name, to) => explained(name, copyFile(join(folder, name), to)),
  };
}

function openRemote(url: string, archive: string | null): Place {
  const get = async (name: string, signal?: AbortSignal) => {
    const address = `${url.replace(/\/$/, '')}/${name}`;
    const response = await fetch(address, { ...(signal && { signal }) }).catch((error: Error) => {
      throw new Error(`${address} cannot be reached: ${(error.cause as Error | undefined)?.message ?? error.message}`);
    });
    if (!response.ok) throw new Error(`${address} cannot be read: it answers with ${response.status}`);
    return response;
  };
  return {
    archive,
    read: async (name) => {
      const { body } = await get(name, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of body ?? []) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MAX_BYTES) throw new Error(`${url}/${name} is larger than 1 MiB: that is no ${name}`);
      }
      return Buffer.concat(chunks);
    },
    copy: async (name, to) =>
      pipeline(
        Readable.fromWeb((await get(name)).body as Parameters<typeof Readable.fromWeb>[0]),
        createWriteStream(to),
      ),
  };
}

/** Finds the newest archive for this machine's processor, or the wanted one, in a SHA256SUMS. Throws if there is none. */
export function newestArchive(sums: string, wanted: string | null): { name: string; version: string; sum: string } {
  const pattern = new RegExp(
    `^([0-9a-f]{64})  (podyard-([0-9][0-9A-Za-z.+-]*)-linux-${process.arch}\\.tar\\.gz)$`,
    'gm',
  );
  const all = [...sums.matchAll(pattern)].map(([, sum, name, version]) => ({
    sum: sum!,
    name: name!,
    version: version!,
  }));
  const known = wanted === null ? all : all.filter(({ name }) => name === wanted);
  const newest = known.toSorted((one, other) => compareVersions(one.version, other.version)).at(-1);
  if (newest) return newest;
  throw new Error(`${SUMS} has no ${wanted ?? `podyard-<version>-linux-${process.arch}.tar.gz`}`);
}

/** Above 0 if `one` is newer. `1.0.0-rc.1` comes before `1.0.0`. */
export function compareVersions(one: string, other: string): number {
  const [[core, pre], [otherCore, otherPre]] = [one, other].map((text) => text.split(/-(.*)/)) as [string[], string[]];
  const order = core!.localeCompare(otherCore!, 'en', { numeric: true });
  if (order !== 0 || pre === otherPre) return order;
  if (pre === undefined || otherPre === undefined) return pre === undefined ? 1 : -1;
  return pre.localeCompare(otherPre, 'en', { numeric: true });
}
