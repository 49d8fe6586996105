import { readFile } from 'node:fs/promises';
import { fileReason } from '../../core/files/file-reason.ts';
import { UsageError } from '../../core/usage-error.ts';

/** Reads a file that the command line names. Throws a `UsageError` that says why it cannot be read. */
export async function readInputFile(file: string): Promise<string> {
  refuseStream(file);
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${file} cannot be read: ${fileReason(error)}`);
  });
}

/** Throws for `-`, which stands for standard input or output elsewhere, where a command needs a file. */
export function refuseStream(file: string): void {
  if (file === '-') throw new UsageError('- stands for no file here: name one. A file of that name is ./-');
}
