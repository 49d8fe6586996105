import { createReadStream, type ReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { messageOf } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { refuseStream } from '../shared/read-input-file.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type Batch, describeBatch, showBatch } from './batches.ts';

/** Lines are sent in calls of about this size: what is lost when one breaks off is sent again. */
const CALL_BYTES = 4 * 2 ** 20;
const MAX_TRIES = 6;
const PAUSE_MS = 1_000;

export interface SubmitOptions {
  name?: string;
  webhook?: string;
  order: boolean;
  batch?: string;
  finalize: boolean;
  wait?: boolean;
  json?: boolean;
}

interface Uploaded {
  linesReceived: number;
  rejections: { line: number; reason: string }[];
}

/**
 * Uploads a file of JSON lines to a new batch, or to a draft that an earlier upload did not finish, and finalizes it. Each
 * call says with which line it begins, so that one that is repeated adds nothing twice.
 */
export async function submitBatch(
  client: ApiClient,
  endpointId: string,
  file: string,
  options: SubmitOptions,
  output: CommandOutput,
): Promise<void> {
  const { size } = await statFile(file);
  const path = `/v2/${endpointId}/batch`;
  const batch = options.batch
    ? await client.json<Batch>('GET', `${path}/${encodeURIComponent(options.batch)}`)
    : { ...(await createDraft(client, path, options)), linesReceived: 0 };
  try {
    await upload(client, `${path}/${batch.id}/requests`, { file, size, received: batch.linesReceived }, output);
  } catch (error) {
    output.note(
      `The upload to ${batch.id} is not complete. To continue it, repeat the command with --batch ${batch.id}.`,
    );
    throw error;
  }
  output.terminal.progress('');
  const own = `${path}/${batch.id}`;
  const now = await client.json<Batch>(...finalizeOrShow(own, options.finalize));
  if (options.wait && options.finalize) {
    output.note(`${now.id}  ${describeBatch(now)}`);
    await showBatch(client, own, options, output);
  } else output.print(options.json ? jsonText(now) : `${now.id}  ${describeBatch(now)}`);
}

/** Throws before a draft is made for what cannot be read. */
async function statFile(file: string): Promise<Stats> {
  refuseStream(file); // an upload that breaks off continues within it
  const found = await stat(file).catch(() => {
    throw new UsageError(`${file}: no such file on this machine`);
  });
  if (found.isDirectory()) throw new UsageError(`${file} is a folder: name a file of JSON lines`);
  return found;
}

function finalizeOrShow(path: string, isFinal: boolean): [method: string, path: string] {
  return isFinal ? ['POST', `${path}/finalize`] : ['GET', path];
}

function createDraft(client: ApiClient, path: string, options: SubmitOptions): Promise<Batch> {
  const { name, webhook, order: ordered } = options;
  return client.json('POST', path, { ordered, ...(name && { name }), ...(webhook && { webhook }) });
}

async function upload(
  client: ApiClient,
  path: string,
  { file, size, received }: { file: string; size: number; received: number },
  { terminal, note }: CommandOutput,
): Promise<void> {
  const raw = createReadStream(file);
  let [line, reported] = [0, 0];
  for await (const { text, lines } of portions(file.endsWith('.gz') ? unpacked(raw) : raw)) {
    if (line + lines > received) {
      const { rejections } = await sendPortion(client, `${path}?offset=${line}`, text, terminal.interrupted);
      for (const { line: number, reason } of rejections) if (reported++ < 20) note(`line ${number}: ${reason}`);
    }
    line += lines;
    const share = size === 0 ? 100 : Math.floor((raw.bytesRead / size) * 100);
    terminal.progress(`${line} lines uploaded (${share} %)`);
  }
  if (reported > 20) note(`… and ${reported - 20} more`);
}

/** Yields what a gzip file has in it. Throws a sentence if it is damaged. */
async function* unpacked(raw: ReadStream): AsyncGenerator<Buffer> {
  const lines = createGunzip();
  raw.once('error', (error) => lines.destroy(error)); // `pipe` passes none on
  try {
    yield* raw.pipe(lines);
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new Error(`${raw.path} is no gzip file, or is damaged: ${messageOf(error)}`, { cause: error });
  } finally {
    raw.destroy();
  }
}

/** Yields whole lines, several megabytes at a time. */
async function* portions(source: AsyncIterable<Buffer>): AsyncGenerator<{ text: Buffer; lines: number }> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    parts.push(chunk);
    bytes += chunk.length;
    if (bytes < CALL_BYTES) continue;
    const all = Buffer.concat(parts);
    const end = all.lastIndexOf(0x0a) + 1;
    if (end > 0) yield withLines(all.subarray(0, end));
    parts = [all.subarray(end)];
    bytes = all.length - end;
  }
  if (bytes > 0) yield withLines(Buffer.concat(parts));
}

function withLines(text: Buffer): { text: Buffer; lines: number } {
  let lines = text.at(-1) === 0x0a ? 0 : 1;
  for (let at = text.indexOf(0x0a); at >= 0; at = text.indexOf(0x0a, at + 1)) lines += 1;
  return { text, lines };
}

/** Sends lines, again and again while the server cannot be reached, is busy, or still works on a call that broke off. */
async function sendPortion(client: ApiClient, path: string, text: Buffer, signal: AbortSignal): Promise<Uploaded> {
  const headers = { 'content-type': 'application/x-ndjson' };
  for (let tries = 1; ; tries++) {
    try {
      const raw = new Uint8Array(text);
      return (await (await client.send('POST', path, { raw, headers })).json()) as Uploaded;
    } catch (error) {
      const isPassing =
        error instanceof ApiRefusal
          ? [0, 408, 409, 429].includes(error.status) || error.status >= 500
          : !signal.aborted;
      if (!isPassing || tries === MAX_TRIES) throw error;
      await sleep(PAUSE_MS * tries, undefined, { signal });
    }
  }
}
