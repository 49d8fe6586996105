import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicClock } from '../../core/clock.ts';
import { Failure, messageOf } from '../../core/errors.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import type { Bandwidth } from './bandwidth.ts';
import { httpGet, type Reach } from './http-get.ts';
import type { OriginAccess } from './origin-access.ts';
import { discard, hexOf, PartialFile } from './partial-file.ts';

/** Where a file of a model is read. */
export interface FileOrigin {
  url: URL;
  /** The model, as sentences for users name it. */
  model: string;
  access: OriginAccess;
  reach: Reach | null;
}

/** A fetch is too slow if it gets fewer than `bytes` in `ms` of waiting for the origin. */
export interface SlowRule {
  bytes: number;
  ms: number;
}

export interface FetchDeps {
  bandwidth: Bandwidth;
  /** The pause before the second try, which doubles up to `MAX_PAUSE_MS`. */
  retryMs: number;
  slow?: SlowRule;
}

/** Called with how much of the file is there, and with what has come since the last call. */
export type OnSize = (size: number, received: number) => void;

/** Tries in a row that bring no byte, or too few. */
const MAX_TRIES = 5;
const MAX_PAUSE_MS = 10_000;
/** At such a rate a gigabyte takes 17 hours: a start does better to say so. */
const SLOW: SlowRule = { bytes: 1_000_000, ms: 60_000 };

/** The origin answered in a way that another try may mend. */
class Interrupted extends Error {}
/** The same, but bytes that came do not earn more tries. */
class TooSlow extends Interrupted {}

/**
 * Fetches a file to `path`, where an earlier try may have left its beginning, and returns once its digest is right and it is on
 * the disk. A connection that breaks, or that is too slow, is opened again where it ended. Throws a sentence that names the model and its origin;
 * what is there then stays for the next call, unless it is wrong or the disk is full.
 */
export async function fetchFile(
  deps: FetchDeps,
  origin: FileOrigin,
  file: PinnedFile,
  { path, onSize, signal }: { path: string; onSize: OnSize; signal: AbortSignal },
): Promise<void> {
  let partial: PartialFile | null = null;
  try {
    partial = await PartialFile.open(path, file);
    await complete(partial, { ...deps, origin, file, onSize, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    await discard(path); // a full disk stops more than this
    const why = isDiskFull(error) ? 'the disk of this machine is full' : messageOf(error);
    throw new Failure('unavailable', `${nameOf(origin, file)} could not be stored: ${why}`, { cause: error });
  } finally {
    await partial?.close();
  }
}

interface Receiving extends FetchDeps {
  origin: FileOrigin;
  file: PinnedFile;
  onSize: OnSize;
  signal: AbortSignal;
}

/** Tries until the file is whole and right. What it throws besides sentences is the disk's. */
async function complete(partial: PartialFile, receiving: Receiving): Promise<void> {
  const { origin, file, onSize, signal, retryMs } = receiving;
  let wasResumed = partial.size > 0;
  for (let tries = 1; ; ) {
    const before = partial.size;
    onSize(before, 0);
    let cause: unknown;
    try {
      if (partial.size < file.size || file.size === 0) await receive(partial, receiving);
      if (await partial.finish()) return;
      await partial.restart();
      if (!wasResumed) throw new Failure('badGateway', differs(origin, file));
      cause = new Interrupted('what was fetched before differed from its digest');
      wasResumed = false;
    } catch (error) {
      signal.throwIfAborted();
      if (partial.failure !== null) throw partial.failure;
      if (error instanceof Failure) throw error;
      cause = error;
    }
    wasResumed ||= partial.size > 0;
    tries = partial.size > before && !(cause instanceof TooSlow) ? 1 : tries + 1;
    if (tries > MAX_TRIES) {
      const text = `${nameOf(origin, file)} could not be fetched from ${origin.url.host}: ${messageOf(cause)}`;
      throw new Failure('unavailable', text, { cause });
    }
    await sleep(Math.min(MAX_PAUSE_MS, retryMs * 2 ** (tries - 1)), undefined, { signal });
  }
}

/** Throws unless the origin gives the file to the holder of this token; reads one byte of it. */
export async function proveAccess(origin: FileOrigin, file: PinnedFile, signal: AbortSignal): Promise<void> {
  const { url, access, reach } = origin;
  const headers: Record<string, string> = file.size > 0 ? { range: 'bytes=0-0' } : {};
  try {
    const { response, linked } = await httpGet(url, { headers, access, reach, signal });
    response.destroy();
    checkStatus(response, origin, file);
    checkDigest(linked.digest, origin, file);
  } catch (error) {
    if (error instanceof Failure || signal.aborted) throw error;
    const text = `whether the model '${origin.model}' may be used could not be asked of ${url.host}: ${messageOf(error)}`;
    throw new Failure('unavailable', text, { cause: error });
  }
}

async function receive(
  partial: PartialFile,
  { bandwidth, slow, origin, file, onSize, signal }: Receiving,
): Promise<void> {
  const { url, access, reach } = origin;
  const { response, linked } = await httpGet(url, { headers: partial.rangeHeaders(), access, reach, signal });
  try {
    if (response.statusCode === 416) {
      await partial.restart();
      throw new Interrupted('the origin refused to go on where it ended');
    }
    checkStatus(response, origin, file);
    checkDigest(linked.digest, origin, file);
    if (response.statusCode === 200 && partial.size > 0) await partial.restart();
    checkSize(response, partial.size, origin, file);
    await partial.noteTag(response.headers.etag);
    for await (const chunk of notTooSlow(response, slow)) {
      if (partial.size + chunk.length > file.size) {
        await partial.restart();
        throw wrongSize(response, origin, file, `more than ${file.size} bytes`);
      }
      await partial.write(chunk);
      onSize(partial.size, chunk.length);
      await bandwidth.take(chunk.length, signal);
    }
    if (partial.size < file.size) throw new Interrupted(`it ended after ${partial.size} of ${file.size} bytes`);
  } finally {
    response.destroy();
    await partial.flush();
  }
}

/** Yields the body, and throws `TooSlow` when the origin lets its reader wait too long for it. Time that the reader takes does not count. */
async function* notTooSlow(response: IncomingMessage, { bytes, ms }: SlowRule = SLOW): AsyncGenerator<Buffer> {
  let [waited, received] = [0, 0];
  let from = monotonicClock.now();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    waited += monotonicClock.now() - from;
    received += chunk.length;
    yield chunk;
    if (waited >= ms) {
      if (received < bytes) throw new TooSlow(`it sent ${received} bytes in ${Math.round(waited / 1000)} s`);
      [waited, received] = [0, 0];
    }
    from = monotonicClock.now();
  }
}

function nameOf({ model }: FileOrigin, { path }: PinnedFile): string {
  return `the file '${path}' of the model '${model}'`;
}

function checkStatus({ statusCode: status = 0 }: IncomingMessage, origin: FileOrigin, file: PinnedFile): void {
  if (status === 200 || status === 206) return;
  const { host } = origin.url;
  if (status === 401 || status === 403) {
    const why = !hasSecret(origin)
      ? 'it is gated, private or gone: name a secret with a token that may read it'
      : 'the token was revoked, or may not read it';
    throw new Failure('forbidden', `${host} refuses the model '${origin.model}' (status ${status}): ${why}`);
  }
  if (status === 404 || status === 410) {
    throw new Failure('notFound', `${host} has no ${nameOf(origin, file).replace(/^the /, '')} any more`);
  }
  if (status === 408 || status === 429 || status >= 500) throw new Interrupted(`it answered with status ${status}`);
  throw new Failure('badGateway', `${host} answered with status ${status} for ${nameOf(origin, file)}`);
}

function hasSecret({ access }: FileOrigin): boolean {
  return access !== null && !(access.kind === 'registry' && access.user === '');
}

function differs(origin: FileOrigin, file: PinnedFile): string {
  return `${nameOf(origin, file)} differs from its digest ${file.digest}: ${origin.url.host} sends something else`;
}

/** A hub sends the digest in its headers, before the content. */
function checkDigest(given: string | undefined, origin: FileOrigin, file: PinnedFile): void {
  if (given === undefined || given === hexOf(file)) return;
  const text = `${nameOf(origin, file)} has changed at ${origin.url.host}: set the endpoint's models again (its digest is ${given}, and the release pins ${file.digest})`;
  throw new Failure('badGateway', text);
}

function checkSize(response: IncomingMessage, from: number, origin: FileOrigin, file: PinnedFile): void {
  if (response.statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers['content-range'] ?? '') ?? [];
    if (Number(start) !== from) throw new Interrupted('the origin sent another part than was asked for');
    if (total !== '*' && Number(total) !== file.size) throw wrongSize(response, origin, file, `${total} bytes`);
    return;
  }
  const length = response.headers['content-length'];
  if (length !== undefined && Number(length) !== file.size) throw wrongSize(response, origin, file, `${length} bytes`);
  if (length === undefined && isPage(response, file)) throw wrongSize(response, origin, file, 'some size');
}

/** A proxy or a sign-in page answered instead of the origin. */
function isPage({ headers }: IncomingMessage, { path }: PinnedFile): boolean {
  return /^text\/html\b/i.test(headers['content-type'] ?? '') && !/\.html?$/i.test(path);
}

function wrongSize(response: IncomingMessage, origin: FileOrigin, file: PinnedFile, found: string): Failure {
  const what = isPage(response, file) ? `a web page of ${found}` : found;
  const text = `${origin.url.host} sent ${what} for ${nameOf(origin, file)}, which has ${file.size} bytes`;
  return new Failure('badGateway', text);
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as { code?: string } | null)?.code ?? '');
}
