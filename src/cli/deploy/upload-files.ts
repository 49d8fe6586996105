import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesText } from '../../core/text/bytes-text.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { inPacks } from '../../domain/builds/packs.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** As many as the server receives from one user at once. */
const AT_ONCE = 4;
const BYTES = { 'content-type': 'application/octet-stream' };

interface SentFile {
  path: string;
  digest: string;
  size: number;
}

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
  const lacking = missing.map((digest) => byDigest.get(digest)!);
  const bytes = bytesOf(lacking);
  let sent = 0;
  const pending = inPacks(lacking).values();
  const work = Array.from({ length: AT_ONCE }, async () => {
    for (const pack of pending) {
      await whenAllowed(() => sendPack(client, root, pack), terminal);
      sent += bytesOf(pack);
      terminal.progress(`uploading ${bytesText(sent)} of ${bytesText(bytes)}: ${pack.at(-1)!.path}`);
    }
  });
  await Promise.all(work);
  terminal.progress('');
  return { files: lacking.length, bytes };
}

const bytesOf = (files: readonly SentFile[]) => files.reduce((sum, { size }) => sum + size, 0);

async function sendPack(client: ApiClient, root: string, pack: readonly SentFile[]): Promise<void> {
  const [first] = pack;
  if (pack.length === 1) {
    const raw = await openAsBlob(join(root, first!.path)); // read while it is sent, never all in memory
    await client.send('PUT', `/v2/builds/files/${first!.digest}`, { raw, headers: BYTES });
    return;
  }
  const contents = await Promise.all(pack.map(({ path }) => readFile(join(root, path))));
  const files = pack.map(({ digest }, i) => ({ digest, size: contents[i]!.length }));
  const raw = Buffer.concat([Buffer.from(`${JSON.stringify(files)}\n`), ...contents]);
  await client.send('POST', '/v2/builds/files', { raw, headers: BYTES });
}

/** Waits, and sends again, while the limit of requests is reached: a large folder may need more than a minute has. */
async function whenAllowed(send: () => Promise<void>, terminal: Terminal): Promise<void> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 429 || error.retryAfterSeconds === null) throw error;
      terminal.progress(`the limit of requests is reached: uploading goes on in ${error.retryAfterSeconds} s`);
      await sleep(error.retryAfterSeconds * 1_000, undefined, { signal: terminal.interrupted });
    }
  }
}
