import { HIDDEN_FOLDER } from '../../runtimes/directories/sweep-uploads.ts';
import { S3Error } from './s3-error.ts';

const MAX_KEY_BYTES = 1024;
/** The limit of Linux file systems. */
const MAX_NAME_BYTES = 255;

/** A key as the names of directories and a file. */
export interface ObjectKey {
  readonly text: string;
  /** The directories above it, outermost first. */
  readonly parents: readonly string[];
  /** Its last name. */
  readonly name: string;
  /** It ends with a slash. */
  readonly isDirectory: boolean;
}

/** Throws an error that says why a key cannot name a file: S3 itself takes more keys than a file system. */
export function parseKey(text: string): ObjectKey {
  if (Buffer.byteLength(text) > MAX_KEY_BYTES)
    throw new S3Error('KeyTooLongError', `The key is longer than ${MAX_KEY_BYTES} bytes.`);
  if (text.includes('\0')) throw refused('holds a zero byte');
  const isDirectory = text.endsWith('/');
  const names = (isDirectory ? text.slice(0, -1) : text).split('/');
  if (names.includes('')) throw refused('has an empty name before or between slashes');
  if (names.some((name) => name === '.' || name === '..')) throw refused("has the name '.' or '..' in it");
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES))
    throw new S3Error('KeyTooLongError', `A part of the key between slashes is longer than ${MAX_NAME_BYTES} bytes.`);
  if (names[0] === HIDDEN_FOLDER) throw refused(`begins with ${HIDDEN_FOLDER}, which Podyard uses itself`);
  return { text, parents: names.slice(0, -1), name: names.at(-1)!, isDirectory };
}

function refused(why: string): S3Error {
  return new S3Error('InvalidArgument', `The key ${why}: keys of a network volume are paths of files.`);
}
