import { Failure } from '../../core/errors.ts';
import type { BuildFile } from '../../domain/builds/build-files.ts';
import { PACK_LIMITS } from '../../domain/builds/packs.ts';

/** An entry of the line takes about a hundred bytes. */
const MAX_LINE_BYTES = 128 * PACK_LIMITS.files;
export const MAX_PACK_BODY = MAX_LINE_BYTES + PACK_LIMITS.bytes;
const LINE_END = 0x0a;
const DIGEST = /^[0-9a-f]{64}$/;

/** Reads a body to its end. Throws `contentTooLarge`. */
export async function readAtMost(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > limit) throw new Failure('contentTooLarge', `The request body may have ${limit} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, bytes);
}

/** Takes a pack apart: the files of its first line, and their contents one after the other. Throws `badRequest`. */
export function readPack(body: Buffer): { files: BuildFile[]; content: Buffer } {
  const end = body.subarray(0, MAX_LINE_BYTES).indexOf(LINE_END);
  if (end < 0) throw new Failure('badRequest', 'The request body must begin with a line of JSON that lists the files.');
  const files = parseLine(body.toString('utf8', 0, end));
  return { files, content: body.subarray(end + 1) };
}

function parseLine(text: string): BuildFile[] {
  const entries = parse(text);
  if (!Array.isArray(entries) || !entries.every(isFile)) {
    const { fileBytes } = PACK_LIMITS;
    throw new Failure(
      'badRequest',
      `The first line must be an array of objects with 'digest', 64 hexadecimal digits, and 'size', 0 to ${fileBytes}.`,
    );
  }
  if (entries.length > PACK_LIMITS.files)
    throw new Failure('badRequest', `A pack may have ${PACK_LIMITS.files} files; this one has ${entries.length}.`);
  return entries.map(({ digest, size }) => ({ digest, size }));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure('badRequest', 'The first line of the request body is not valid JSON.', { cause });
  }
}

function isFile(entry: unknown): entry is BuildFile {
  if (typeof entry !== 'object' || entry === null) return false;
  const { digest, size } = entry as Partial<Record<keyof BuildFile, unknown>>;
  const isSize = Number.isSafeInteger(size) && Number(size) >= 0 && Number(size) <= PACK_LIMITS.fileBytes;
  return typeof digest === 'string' && DIGEST.test(digest) && isSize;
}
