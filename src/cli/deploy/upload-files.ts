import { openAsBlob } from 'node:fs';
import { join } from 'node:path';
import type { FolderEntry } from '../../domain/builds/build.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';

/** As many as the server receives from one user at once. */
const AT_ONCE = 4;

/** Sends the files that the server lacks, each content once. Resolves with how many bytes that were. */
export async function uploadFiles(
  client: ApiClient,
  root: string,
  entries: readonly FolderEntry[],
  { terminal }: CommandOutput,
): Promise<{ files: number; bytes: number }> {
  const byDigest = new Map(entries.flatMap((entry) => ('digest' in entry ? [[entry.digest, entry] as const] : [])));
  const files = [...byDigest.values()].map(({ digest, size }) => ({ digest, size }));
  const { missing } = await client.call('post', '/v2/builds/missing-files', { body: { files } });
  const queue = missing.map((digest) => byDigest.get(digest)!);
  const bytes = queue.reduce((sum, { size }) => sum + size, 0);
  let sent = 0;
  const pending = queue.values();
  const work = Array.from({ length: AT_ONCE }, async () => {
    for (const { path, digest, size } of pending) {
      const raw = await openAsBlob(join(root, path)); // read while it is sent, never all in memory
      const headers = { 'content-type': 'application/octet-stream' };
      await client.send('PUT', `/v2/builds/files/${digest}`, { raw, headers });
      sent += size;
      terminal.progress(`uploading ${bytesText(sent)} of ${bytesText(bytes)}: ${path}`);
    }
  });
  await Promise.all(work);
  terminal.progress('');
  return { files: queue.length, bytes };
}

export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [unit, size] = bytes < 1_000_000 ? ['kB', 1_000] : bytes < 1_000_000_000 ? ['MB', 1_000_000] : ['GB', 1e9];
  return `${(bytes / (size as number)).toFixed(1)} ${unit}`;
}
