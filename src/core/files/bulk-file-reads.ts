import { read } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { FairSlots } from '../flow/fair-slots.ts';

/**
 * Concurrent reads of large pieces. Each takes one of sixteen file threads, which serve first come, first served: a hundred clients reading
 * at full speed would delay the short operations of all others.
 */
const slots = new FairSlots({ slots: 8, perOwner: 4 });

/**
 * Fills a buffer from offset `at` of a file, in turn with other owners that read at full speed. Resolves with the number of bytes. The file
 * must stay open until then.
 */
export function readBulk(owner: string, file: FileHandle, buffer: Buffer, at: number): Promise<number> {
  return slots.run(owner, () => readFrom(file, buffer, at));
}

/** The handle's own `read` takes a tenth more of the CPU of a large response. */
function readFrom({ fd }: FileHandle, buffer: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, 0, buffer.length, at, (error, bytesRead) => (error ? reject(error) : resolve(bytesRead)));
  });
}
