import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { type Entry, readContent } from './entry.ts';

/** Tests unpack what they build once or twice: the least compression takes half the time. */
const GZIP_LEVEL = Number(process.env.PODYARD_RELEASE_GZIP_LEVEL ?? constants.Z_DEFAULT_COMPRESSION);

/**
 * Writes the entries as a tar archive to `file`, compressed if its name ends in `gz`. The same entries give the same bytes:
 * they are sorted, belong to root, and are as old as `modifiedAt`. Folders come before what is in them. Returns the SHA-256 of
 * the archive before it was compressed, in hex.
 */
export async function writeTar(file: string, entries: Entry[], modifiedAt: Date): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  const archive = pack();
  const filled = fill(archive, entries, modifiedAt);
  const hash = createHash('sha256');
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  };
  const compress = file.endsWith('gz') ? createGzip({ level: GZIP_LEVEL }) : new PassThrough();
  const source = Readable.from(archive, { objectMode: false });
  await Promise.all([filled, pipeline(source, hashed, compress, createWriteStream(file))]);
  return hash.digest('hex');
}

async function fill(archive: Pack, entries: Entry[], mtime: Date): Promise<void> {
  try {
    const owner = { uid: 0, gid: 0, uname: 'root', gname: 'root', mtime };
    const folders = new Set<string>();
    for (const entry of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
      for (const folder of foldersOf(entry.path)) {
        if (folders.has(folder)) continue;
        folders.add(folder);
        await add(archive, { ...owner, name: folder, type: 'directory', mode: 0o755 });
      }
      if (entry.kind === 'folder') {
        folders.add(entry.path);
        const { path: name, mode, owner: id } = entry;
        await add(archive, { name, type: 'directory', mode, uid: id, gid: id, mtime });
      } else if (entry.kind === 'link') {
        await add(archive, { ...owner, name: entry.path, type: 'symlink', linkname: entry.target, mode: 0o777 });
      } else {
        const mode = entry.isExecutable ? 0o755 : 0o644;
        await add(archive, { ...owner, name: entry.path, mode }, await readContent(entry));
      }
    }
    archive.finalize();
  } catch (error) {
    archive.destroy(error as Error);
    throw error;
  }
}

/** `a/b/c` → `a`, `a/b` */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts
    .map((_, index) => parts.slice(0, index + 1).join('/'))
    .filter((folder) => folder !== '' && folder !== '.');
}

/** Adds one entry and waits until the archive has room for more, so that it is never whole in memory. */
async function add(
  archive: Pack,
  header: Parameters<Pack['entry']>[0],
  content: Buffer = Buffer.alloc(0),
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    archive.entry(header, content, (error) => (error ? reject(error) : resolve()));
  });
}
