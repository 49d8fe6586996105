import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';

type Identity = Pick<BigIntStats, 'ino' | 'size' | 'mtimeNs'>;

/**
 * Returns a file's ETag, with its quotes: another one after each change of its content, whoever changed it. The `-1` is S3's mark of an
 * ETag that is not an MD5, so that no client compares it with one.
 */
export function etagOf({ ino, size, mtimeNs }: Identity): string {
  const hash = createHash('sha256').update(`${ino}/${size}/${mtimeNs}`).digest('hex');
  return `"${hash.slice(0, 32)}-1"`;
}

/** True if a header of conditions (If-Match and the like) names the ETag. */
export function namesEtag(header: string, etag: string): boolean {
  const names = header.split(',').map((name) => name.trim().replace(/^W\//, ''));
  return names.some((name) => name === '*' || name === etag || `"${name}"` === etag);
}
