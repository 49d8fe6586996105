import type { FileHandle } from 'node:fs/promises';
import { FairSlots } from '../flow/fair-slots.ts';

/**
 * Reads of large pieces at once. Each takes a thread for files, of which there are sixteen, that serve who comes first: a hundred clients
 * who read at full speed would have the short operations of all others wait behind theirs.
 */
const slots = new FairSlots({ slots: 8, perOwner: 4 });

/** Fills a buffer with what is at `at` of a file, in turn with others who read files at full speed; resolves with how many bytes. */
export async function readBulk(owner: string, file: FileHandle, buffer: Buffer, at: number): Promise<number> {
  const { bytesRead } = await slots.run(owner, () => file.read(buffer, 0, buffer.length, at));
  return bytesRead;
}
