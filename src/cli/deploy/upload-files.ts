import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesText } from '../../core/text/bytes-text.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { inPacks, PACK_LIMITS } from '../../domain/builds/packs.ts';
import { AGAIN_MS, type ApiClient, ApiRefusal, AWAY_MS } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';

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
  output: CommandOutput,
): Promise<{ files: number; bytes: number }> {
  const { terminal } = output;
  const byDigest = new Map(entries.flatMap((entry) => ('digest' in entry ? [[entry.digest, entry] as const] : [])));
  const { missing, partial } = await askFor(client, [...byDigest.values()]);
  const there = new Map(partial.map((part) => [part.digest, part.bytes]));
  const lacking = missing.map((digest) => byDigest.get(digest)!);
  const bytes = bytesOf(lacking);
  /** By pack: how many of its bytes the server has, or are on their way. */
  const sent = new Map<readonly SentFile[], number>();
  const pending = inPacks(lacking).values();
  const work = Array.from({ length: AT_ONCE }, async () => {
    for (const pack of pending) {
      const report = (packBytes: number) => {
        sent.set(pack, packBytes);
        const all = [...sent.values()].reduce((sum, one) => sum + one, 0);
        terminal.progress(`uploading ${bytesText(all)} of ${bytesText(bytes)}: ${pack.at(-1)!.path}`);
      };
      await sendToEnd(client, root, { pack, start: there.get(pack[0]!.digest) ?? 0, report }, output);
      report(bytesOf(pack));
    }
  });
  await Promise.all(work);
  terminal.progress('');
  return { files: lacking.length, bytes };
}

const bytesOf = (files: readonly SentFile[]) => files.reduce((sum, { size }) => sum + size, 0);

function askFor(client: ApiClient, files: readonly SentFile[]) {
  const named = files.map(({ digest, size }) => ({ digest, size }));
  return client.call('post', '/v2/builds/missing-files', { body: { files: named } });
}

/**
 * Sends again while the limit of requests is reached, because a large folder may need more than a minute has, and when the connection
 * was cut: a large file from where the server has it. What the server waits for, such as room on its disk, is said once.
 */
async function sendToEnd(
  client: ApiClient,
  root: string,
  { pack, start, report }: { pack: readonly SentFile[]; start: number; report: (packBytes: number) => void },
  { terminal, note }: CommandOutput,
): Promise<void> {
  let isSaid = false;
  let from: number | null = start;
  let best = start;
  let lostAt: number | null = null;
  for (;;) {
    try {
      from ??= await bytesThere(client, pack);
      if (from > best) lostAt = null;
      best = Math.max(best, from);
      return await sendPack(client, root, { pack, from, report });
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.status === 429 && error.retryAfterSeconds !== null) {
        terminal.progress(`the limit of requests is reached: sent again in ${error.retryAfterSeconds} s`);
        await sleep(error.retryAfterSeconds * 1_000, undefined, { signal: terminal.interrupted });
        continue;
      }
      lostAt ??= performance.now();
      if (!isCut(error) || performance.now() - lostAt > AWAY_MS) throw error;
      if (error.status === 503 && !isSaid) {
        isSaid = true;
        note(`! ${error.message.replace(/\.$/, '')}. The upload is tried again for a minute.`);
      }
      terminal.progress('waiting for the server; the upload is tried again');
      await sleep(AGAIN_MS, undefined, { signal: terminal.interrupted });
      from = null;
    }
  }
}

/** 409: what the server has of the file has changed, as when a request that was cut still wrote. */
const isCut = ({ status }: ApiRefusal) => status === 0 || status === 409 || (status >= 502 && status <= 504);

async function bytesThere(client: ApiClient, pack: readonly SentFile[]): Promise<number> {
  const { partial } = await askFor(client, pack);
  return partial[0]?.bytes ?? 0;
}

/** 422: the content has another digest than was told. */
function changedMeanwhile(error: unknown, path: string): unknown {
  if (!(error instanceof ApiRefusal) || error.status !== 422) return error;
  return new ApiRefusal(422, `${path} changed while it was sent: run the command again`);
}

async function sendPack(
  client: ApiClient,
  root: string,
  { pack, from, report }: { pack: readonly SentFile[]; from: number; report: (packBytes: number) => void },
): Promise<void> {
  const [first] = pack;
  if (pack.length === 1) return sendFile(client, root, { file: first!, from, report });
  const contents = await Promise.all(pack.map(({ path }) => readFile(join(root, path))));
  const files = pack.map(({ digest }, i) => ({ digest, size: contents[i]!.length }));
  const raw = Buffer.concat([Buffer.from(`${JSON.stringify(files)}\n`), ...contents]);
  await client.json('POST', '/v2/builds/files', undefined, { raw, headers: BYTES });
}

/** A large file is read while it is sent, never all in memory. */
async function sendFile(
  client: ApiClient,
  root: string,
  { file, from, report }: { file: SentFile; from: number; report: (fileBytes: number) => void },
): Promise<void> {
  const { path, digest, size } = file;
  const url = `/v2/builds/files/${digest}`;
  const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${size - 1}/${size}` };
  const headers = { ...BYTES, ...range };
  try {
    if (size <= PACK_LIMITS.fileBytes) {
      const raw = (await readFile(join(root, path))).subarray(from);
      await client.json('PUT', url, undefined, { raw, headers });
      return;
    }
    const whole = await openAsBlob(join(root, path));
    let at = from;
    const onSent = (bytes: number) => {
      at += bytes;
      report(at);
    };
    await client.send('PUT', url, { raw: from === 0 ? whole : whole.slice(from), headers, onSent });
  } catch (error) {
    throw changedMeanwhile(error, path);
  }
}
