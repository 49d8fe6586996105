import { readFileSync, statSync } from 'node:fs';

/** A file of an image. A path ending with `/` is a folder; `source` is a file of this machine, read when it is written. */
export interface TarEntry {
  path: string;
  source?: string;
  content?: string | Buffer;
  /** Makes it a symbolic link. */
  linksTo?: string;
  mode?: number;
}

/** Yields a tar archive (POSIX ustar) of the entries in order, owned by root, with a fixed time. */
export function* tar(entries: Iterable<TarEntry>): Generator<Buffer> {
  for (const entry of entries) {
    const { content = '' } = entry;
    const body = entry.source === undefined ? Buffer.from(content as Buffer) : readFileSync(entry.source);
    const mode = entry.mode ?? (entry.source === undefined ? 0o755 : statSync(entry.source).mode & 0o777);
    yield header(entry, body.length, mode);
    yield body;
    yield Buffer.alloc((512 - (body.length % 512)) % 512);
  }
  yield Buffer.alloc(1024);
}

function header({ path, linksTo }: TarEntry, size: number, mode: number): Buffer {
  const block = Buffer.alloc(512);
  const [prefix, name] = splitPath(path);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset, 'latin1');
  block.write(name, 0, 'utf8');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write('        ', 148, 'latin1'); // the checksum is computed with blanks in its own field
  block.write(linksTo !== undefined ? '2' : path.endsWith('/') ? '5' : '0', 156, 'latin1');
  block.write(linksTo ?? '', 157, 'utf8');
  block.write('ustar\x0000', 257, 'latin1');
  block.write(prefix, 345, 'utf8');
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return block;
}

/** ustar has 100 bytes for a name and 155 more for the folders before it. */
function splitPath(path: string): [string, string] {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  const slash = path.indexOf('/', path.length - 100);
  if (slash === -1 || slash > 155) throw new Error(`'${path}' is too long for a tar archive`);
  return [path.slice(0, slash), path.slice(slash + 1)];
}
