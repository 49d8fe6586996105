import { createHash } from 'node:crypto';
import type { PinnedFile, PinnedModel } from '../../src/domain/models/pinned-model.ts';

/** The origin's files repeat this. */
export const BLOCK = Buffer.from(Array.from({ length: 2 ** 20 }, (_, i) => (i * 7919 + (i >> 8)) % 251));

/** Returns a model of files with these sizes, as the origin sends them. */
export function benchModel(name: string, sizes: readonly number[]): PinnedModel {
  const files = sizes.map((size, i): PinnedFile => {
    const hash = createHash('sha256');
    for (let at = 0; at < size; at += BLOCK.length) hash.update(BLOCK.subarray(0, Math.min(BLOCK.length, size - at)));
    return { path: `folder-${i % 5}/part-${i}-${size}`, size, digest: `sha256:${hash.digest('hex')}` };
  });
  const id = createHash('sha256')
    .update(JSON.stringify([name, files]))
    .digest('hex');
  return { id, source: 'HUB', name, commit: '0'.repeat(40), files };
}
