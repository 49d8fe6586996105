/** `podyard volumes cp`: files of this machine to a volume, and back. What is there already is not copied again. */
import { openAsBlob } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder } from '../../core/files/make-folder.ts';
import { bytesText } from '../../core/text/bytes-text.ts';
import { counted } from '../../core/text/counted.ts';
import { notUtf8 } from '../../core/text/not-utf8.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { refuseSpecial } from '../shared/refuse-special.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { type Begun, beginUpload } from './begin-upload.ts';
import { checkDone, encodeKey, type FoundFile, listKeys } from './volume-documents.ts';
import { explainMissing, findPlace, isPlace, type Place } from './volume-files.ts';

/** Larger files are sent in parts of this size, so that what was sent survives a connection that breaks. */
const PART_BYTES = 64 * 2 ** 20;
const ATTEMPTS = 6;
const AGAIN_MS = 1_000;
/** A file that takes longer says how far it is. */
const NOTE_MS = 3_000;
/** Files that are left out and named. */
const MAX_NAMED = 10;

export async function copyFiles(
  client: ApiClient,
  { from, to, recursive = false, json }: { from: string; to: string; recursive?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  if (isPlace(from) === isPlace(to))
    throw new UsageError('one of the two places is <volume>:<path>, the other a path of this machine');
  const copied = isPlace(to)
    ? await upload(client, { path: from, place: to, recursive }, output)
    : await download(client, { place: from, path: to, recursive }, output);
  if (json) output.print(jsonText(copied));
  else output.note(copiedText(copied));
}

interface Copied {
  files: number;
  bytes: number;
  /** Files that were there already, with the same size and time. */
  unchanged: number;
}

function copiedText({ files, bytes, unchanged }: Copied): string {
  const text = `${counted(files, 'file')}, ${bytesText(bytes)}`;
  return unchanged === 0 ? `${text}.` : `${text}; ${unchanged} unchanged.`;
}

/** A file that was copied has the time of its source, so the same size and time mean that it was copied before. */
interface Version {
  size: number;
  ms: number;
}

const isSame = (one: Version, other: Version | undefined) =>
  other !== undefined && one.size === other.size && Math.abs(one.ms - other.ms) < 2; // the protocol rounds to 1 ms

async function upload(
  client: ApiClient,
  { path, place, recursive }: { path: string; place: string; recursive: boolean },
  output: CommandOutput,
): Promise<Copied> {
  const target = await findPlace(client, place);
  const source = await stat(path).catch(() => {
    throw new UsageError(`${path}: no such file or directory on this machine`);
  });
  if (!source.isFile() && !source.isDirectory())
    throw new UsageError(`${path} is neither a file nor a directory: write what it gives to a file first`);
  if (source.isDirectory() && !recursive) throw new UsageError(`'${path}' is a directory: copy it with -r`);
  if (!source.isDirectory()) {
    const key = place.endsWith('/') || target.key === '' ? join(target.key, basename(path)) : target.key;
    const there = await client.send('HEAD', `/s3/${target.id}/${encodeKey(key)}`).catch(absent);
    if (isSame({ size: source.size, ms: source.mtimeMs }, there && versionAt(there.headers)))
      return { files: 0, bytes: 0, unchanged: 1 };
    await uploadFile(client, target.id, { path, key }, output);
    return { files: 1, bytes: source.size, unchanged: 0 };
  }
  const copied = { files: 0, bytes: 0, unchanged: 0 };
  const there = await listVersions(client, target.id, target.key === '' ? '' : `${target.key}/`);
  const leftOut: string[] = [];
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const file = join(entry.parentPath, entry.name);
    const inside = relative(path, file).split(sep).join('/');
    if (entry.name.includes('\ufffd')) await stat(file).catch(() => Promise.reject(notUtf8(inside)));
    if (!entry.isFile()) {
      leftOut.push(inside);
      continue;
    }
    const key = target.key === '' ? inside : `${target.key}/${inside}`;
    const { size, mtimeMs: ms } = await stat(file);
    if (isSame({ size, ms }, there.get(key))) {
      copied.unchanged += 1;
      continue;
    }
    await uploadFile(client, target.id, { path: file, key }, output);
    copied.files += 1;
    copied.bytes += size;
  }
  noteLeftOut(leftOut, output);
  return copied;
}

function noteLeftOut(paths: readonly string[], { note }: CommandOutput): void {
  if (paths.length === 0) return;
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  note(`Links and special files are left out: ${paths.slice(0, MAX_NAMED).join(', ')}${more}.`);
}

async function uploadFile(
  client: ApiClient,
  volumeId: string,
  { path, key }: { path: string; key: string },
  output: CommandOutput,
): Promise<void> {
  const blob = await openAsBlob(path);
  const { mtimeMs } = await stat(path);
  const url = `/s3/${volumeId}/${encodeKey(key)}`;
  const headers = { 'x-amz-meta-mtime': (mtimeMs / 1_000).toFixed(3) };
  if (blob.size <= PART_BYTES) {
    await retrying(() => client.send('PUT', url, { raw: blob, headers }));
    return;
  }
  const progress = new Progress(key, blob.size, output);
  const begun = await beginUpload(client, { url, volumeId, key, headers, size: blob.size, partBytes: PART_BYTES });
  try {
    await sendParts(client, { url, blob, begun }, progress);
  } catch (error) {
    if (!isPassing(error)) await client.send('DELETE', `${url}?uploadId=${begun.id}`).catch(() => {}); // otherwise the next command resumes it
    throw error;
  }
}

async function sendParts(
  client: ApiClient,
  { url, blob, begun }: { url: string; blob: Blob; begun: Begun },
  progress: Progress,
): Promise<void> {
  const parts: string[] = [];
  for (let at = 0; at < blob.size; at += PART_BYTES) {
    const number = parts.length + 1;
    const raw = blob.slice(at, at + PART_BYTES);
    const send = () => client.send('PUT', `${url}?partNumber=${number}&uploadId=${begun.id}`, { raw });
    const etag = begun.parts.get(number) ?? (await retrying(send)).headers.get('etag');
    parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
    progress.add(raw.size);
  }
  const raw = new Blob([`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`]);
  await checkDone(await client.send('POST', `${url}?uploadId=${begun.id}`, { raw }));
}

async function download(
  client: ApiClient,
  { place, path, recursive }: { place: string; path: string; recursive: boolean },
  output: CommandOutput,
): Promise<Copied> {
  const source = await findPlace(client, place);
  if (!recursive) {
    if (source.key === '') throw new UsageError(`name a file of ${source.name}, or copy all of it with -r`);
    const isDirectory = await stat(path).then(
      (found) => found.isDirectory(),
      () => path.endsWith('/'),
    );
    const target = isDirectory ? join(path, basename(source.key)) : path;
    const { headers } = await retrying(() => client.send('HEAD', `/s3/${source.id}/${encodeKey(source.key)}`)).catch(
      (error) => Promise.reject(explainMissing(error, source)),
    );
    if (isSame(await versionOf(target), versionAt(headers))) return { files: 0, bytes: 0, unchanged: 1 };
    const bytes = await downloadFile(client, source, target, output);
    return { files: 1, bytes, unchanged: 0 };
  }
  const prefix = source.key === '' ? '' : `${source.key}/`;
  const copied = { files: 0, bytes: 0, unchanged: 0 };
  for await (const found of listKeys(client, source.id, prefix, '')) {
    const { key } = found;
    const inside = key.slice(prefix.length);
    if (key.endsWith('/')) {
      await makeFolder(join(path, inside));
      continue;
    }
    const target = join(path, ...inside.split('/'));
    if (isSame(await versionOf(target), versionIn(found))) {
      copied.unchanged += 1;
      continue;
    }
    copied.bytes += await downloadFile(client, { ...source, key }, target, output);
    copied.files += 1;
  }
  if (copied.files + copied.unchanged === 0)
    throw new ApiRefusal(404, `there are no files in '${source.key}' of ${source.name}`);
  return copied;
}

/** Returns what is in a volume under a prefix, by key. */
async function listVersions(client: ApiClient, volumeId: string, prefix: string): Promise<Map<string, Version>> {
  const versions = new Map<string, Version>();
  for await (const found of listKeys(client, volumeId, prefix, '')) versions.set(found.key, versionIn(found));
  return versions;
}

/** Reads the version from an answer to HEAD. */
const versionAt = (headers: Headers): Version => ({
  size: Number(headers.get('content-length')),
  ms: Number(headers.get('x-amz-meta-mtime')) * 1_000,
});

/** An answer to HEAD has no body: if the key is refused, the PUT that follows is told why. */
function absent(error: unknown): undefined {
  if (!(error instanceof ApiRefusal) || error.status < 400 || error.status >= 500) throw error;
}

const versionIn = ({ size, modified }: FoundFile): Version => ({ size, ms: Date.parse(modified ?? '') });

/** Returns the version of a file of this machine; the size is -1 if it is not there. */
async function versionOf(path: string): Promise<Version> {
  return stat(path).then(
    ({ size, mtimeMs: ms }) => ({ size, ms }),
    () => ({ size: -1, ms: 0 }),
  );
}

/**
 * Writes beside the target first. A broken connection is reopened and resumes there if the file is unchanged; so does the next command
 * after a killed one: the partial file is named after the source's version.
 */
async function downloadFile(
  client: ApiClient,
  { id, key }: Place,
  target: string,
  output: CommandOutput,
): Promise<number> {
  const url = `/s3/${id}/${encodeKey(key)}`;
  const { headers: found } = await retrying(() => client.send('HEAD', url));
  const etag = found.get('etag')!;
  const size = Number(found.get('content-length'));
  const part = `${target}.${etag.replaceAll(/[^\w-]/g, '')}.podyard-part`;
  await makeFolder(dirname(target));
  await removeOtherParts(target, part);
  const progress = new Progress(key, size, output);
  await refuseSpecial(target);
  const file = await open(part, 'a');
  try {
    progress.add((await file.stat()).size);
    for (let isWhole = size === 0; !isWhole; ) {
      await retrying(async () => {
        const at = (await file.stat()).size;
        if (at >= size) return;
        const headers = { 'if-match': etag, ...(at > 0 && { range: `bytes=${at}-` }) };
        const response = await client.send('GET', url, { headers });
        for await (const chunk of response.body!) {
          await file.writeFile(chunk).catch((error: Error) => {
            throw new Error(`${target} cannot be written: ${error.message}`);
          });
          progress.add(chunk.length);
        }
      });
      isWhole = (await file.stat()).size >= size;
    }
    const at = Number(found.get('x-amz-meta-mtime'));
    if (at > 0) await file.utimes(at, at);
  } finally {
    await file.close();
  }
  await rename(part, target);
  return size;
}

/** Removes what came of other versions of the source. */
async function removeOtherParts(target: string, part: string): Promise<void> {
  const folder = dirname(target);
  for (const name of await readdir(folder)) {
    const isPart = name.startsWith(`${basename(target)}.`) && name.endsWith('.podyard-part');
    if (isPart && name !== basename(part)) await rm(join(folder, name), { force: true });
  }
}

/** Tries again when the server is away or the connection breaks. */
async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || attempt === ATTEMPTS) throw error;
      await sleep(AGAIN_MS * attempt);
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof ApiRefusal ? error.status === 0 || error.status === 503 : error instanceof TypeError;
}

class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #output: CommandOutput;
  #done = 0;
  #notedAt = performance.now();

  constructor(what: string, total: number, output: CommandOutput) {
    this.#what = what;
    this.#total = total;
    this.#output = output;
  }

  add(bytes: number): void {
    this.#done += bytes;
    if (performance.now() - this.#notedAt < NOTE_MS) return;
    this.#notedAt = performance.now();
    this.#output.note(`${this.#what}: ${bytesText(this.#done)} of ${bytesText(this.#total)}`);
  }
}
