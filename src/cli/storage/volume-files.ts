import { openAsBlob } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesText } from '../../core/text/bytes-text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { findRecord } from '../records/find-record.ts';
import { RECORDS } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { type ConfirmOptions, confirmDeletion } from '../shared/command-shape.ts';
import { showRecords } from '../shared/show-records.ts';
import type { Column } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { checkDone, encodeKey, type FoundFile, listKeys, parse } from './volume-documents.ts';

/** Larger files are sent in parts of this size, so that what was sent survives a connection that breaks. */
const PART_BYTES = 64 * 2 ** 20;
const ATTEMPTS = 6;
const AGAIN_MS = 1_000;
/** A file that takes longer says how far it is. */
const NOTE_MS = 3_000;

interface Place {
  id: string;
  name: string;
  /** Without slashes at its ends. */
  key: string;
}

export async function listFiles(
  client: ApiClient,
  { place, recursive, json }: { place: string; recursive?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const found = await findPlace(client, place);
  const prefix = found.key === '' ? '' : `${found.key}/`;
  let files = await collect(listKeys(client, found.id, prefix, recursive ? '' : '/'));
  if (files.length === 0 && prefix !== '') {
    files = (await collect(listKeys(client, found.id, found.key, '/'))).filter(({ key }) => key === found.key);
    if (files.length === 0) throw new ApiRefusal(404, `there is no file or directory '${found.key}' in ${found.name}`);
  }
  const columns: Column<FoundFile>[] = [
    ['SIZE', (file) => (file.key.endsWith('/') ? '' : bytesText(file.size))],
    ['MODIFIED', (file) => file.modified],
    ['NAME', (file) => (file.key === prefix ? './' : file.key.slice(file.key === found.key ? 0 : prefix.length))],
  ];
  showRecords(files, { columns, none: `${found.name} has no files there.` }, json, output);
}

export async function removeFiles(
  client: ApiClient,
  { place, ...options }: ConfirmOptions & { place: string; recursive?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const found = await findPlace(client, place);
  if (found.key === '') throw new UsageError(`name a file or directory: podyard volumes rm ${found.name}:<path>`);
  const { id, key, name } = found;
  const path = `/s3/${id}/${encodeKey(key)}`;
  let count = 1;
  if (options.recursive) {
    await confirmDeletion(output, { what: `${key} of ${name} with everything in it`, name: key, id: key }, options);
    count = await removeAll(client, id, `${key}/`);
    await client.send('DELETE', `${path}/`);
  } else await client.send('HEAD', path).catch((error) => Promise.reject(explainMissing(error, found)));
  await client.send('DELETE', path);
  if (options.json) output.print(jsonText({ key, deleted: count }));
  else output.note(`${key} is deleted.`);
}

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
  else output.note(`${copied.files} ${copied.files === 1 ? 'file' : 'files'}, ${bytesText(copied.bytes)}.`);
}

interface Copied {
  files: number;
  bytes: number;
}

async function upload(
  client: ApiClient,
  { path, place, recursive }: { path: string; place: string; recursive: boolean },
  output: CommandOutput,
): Promise<Copied> {
  const target = await findPlace(client, place);
  const source = await stat(path);
  if (source.isDirectory() && !recursive) throw new UsageError(`'${path}' is a directory: copy it with -r`);
  if (!source.isDirectory()) {
    const key = place.endsWith('/') || target.key === '' ? join(target.key, basename(path)) : target.key;
    await uploadFile(client, target.id, { path, key }, output);
    return { files: 1, bytes: source.size };
  }
  const copied = { files: 0, bytes: 0 };
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const inside = file.slice(join(path, '/').length).split(sep).join('/');
    await uploadFile(
      client,
      target.id,
      { path: file, key: target.key === '' ? inside : `${target.key}/${inside}` },
      output,
    );
    copied.files += 1;
    copied.bytes += (await stat(file)).size;
  }
  return copied;
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
  const begun = await client.send('POST', `${url}?uploads`, { headers });
  const { UploadId: upload } = await parse(begun, 'InitiateMultipartUploadResult');
  try {
    const parts: string[] = [];
    for (let at = 0; at < blob.size; at += PART_BYTES) {
      const number = parts.length + 1;
      const raw = blob.slice(at, at + PART_BYTES);
      const response = await retrying(() =>
        client.send('PUT', `${url}?partNumber=${number}&uploadId=${upload}`, { raw }),
      );
      parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${response.headers.get('etag')}</ETag></Part>`);
      progress.add(raw.size);
    }
    const raw = new Blob([`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`]);
    await checkDone(await client.send('POST', `${url}?uploadId=${upload}`, { raw }));
  } catch (error) {
    await client.send('DELETE', `${url}?uploadId=${upload}`).catch(() => {});
    throw error;
  }
}

async function download(
  client: ApiClient,
  { place, path, recursive }: { place: string; path: string; recursive: boolean },
  output: CommandOutput,
): Promise<Copied> {
  const source = await findPlace(client, place);
  if (!recursive) {
    const isDirectory = await stat(path).then(
      (found) => found.isDirectory(),
      () => path.endsWith('/'),
    );
    const target = isDirectory ? join(path, basename(source.key)) : path;
    const bytes = await downloadFile(client, source, target, output).catch((error) =>
      Promise.reject(explainMissing(error, source)),
    );
    return { files: 1, bytes };
  }
  const prefix = source.key === '' ? '' : `${source.key}/`;
  const copied = { files: 0, bytes: 0 };
  for await (const { key } of listKeys(client, source.id, prefix, '')) {
    const inside = key.slice(prefix.length);
    if (key.endsWith('/')) {
      await mkdir(join(path, inside), { recursive: true });
      continue;
    }
    copied.bytes += await downloadFile(client, { ...source, key }, join(path, ...inside.split('/')), output);
    copied.files += 1;
  }
  if (copied.files === 0) throw new ApiRefusal(404, `there are no files in '${source.key}' of ${source.name}`);
  return copied;
}

/** Writes beside the target first. A connection that breaks is made again, and goes on where it broke if the file is the same. */
async function downloadFile(
  client: ApiClient,
  { id, key }: Place,
  target: string,
  output: CommandOutput,
): Promise<number> {
  const url = `/s3/${id}/${encodeKey(key)}`;
  const part = `${target}.podyard-part`;
  await mkdir(dirname(target), { recursive: true });
  const file = await open(part, 'w');
  let at = 0;
  let etag: string | null = null;
  let progress: Progress | undefined;
  try {
    await retrying(async () => {
      const headers = etag === null ? undefined : { range: `bytes=${at}-`, 'if-match': etag };
      const response = await client.send('GET', url, headers ? { headers } : {});
      etag = response.headers.get('etag');
      progress ??= new Progress(key, Number(response.headers.get('content-length')), output);
      for await (const chunk of response.body!) {
        await file.writeFile(chunk);
        at += chunk.length;
        progress.add(chunk.length);
      }
    });
    await file.close();
    await rename(part, target);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
  return at;
}

/** Deletes all files under a prefix and the directories that are then empty, innermost first; returns how many files. */
async function removeAll(client: ApiClient, volumeId: string, prefix: string): Promise<number> {
  let count = 0;
  const folders = new Set<string>();
  for await (const { key } of listKeys(client, volumeId, prefix, '')) {
    if (!key.endsWith('/')) {
      await client.send('DELETE', `/s3/${volumeId}/${encodeKey(key)}`);
      count += 1;
    }
    for (let end = key.lastIndexOf('/'); end >= prefix.length; end = key.lastIndexOf('/', end - 1))
      folders.add(key.slice(0, end + 1));
  }
  for (const folder of [...folders].sort((a, b) => b.length - a.length))
    await client.send('DELETE', `/s3/${volumeId}/${encodeKey(folder)}`);
  return count;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Tries again when the server is away or the connection breaks. */
async function retrying<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isPassing =
        error instanceof ApiRefusal ? error.status === 0 || error.status === 503 : error instanceof TypeError;
      if (!isPassing || attempt === ATTEMPTS) throw error;
      await sleep(AGAIN_MS * attempt);
    }
  }
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

function isPlace(text: string): boolean {
  return /^[^/.:][^/:]*:/.test(text);
}

async function findPlace(client: ApiClient, text: string): Promise<Place> {
  if (!isPlace(text)) throw new UsageError(`'${text}' is not <volume>:<path>`);
  const colon = text.indexOf(':');
  const { id, name } = await findRecord(client, RECORDS.volumes, text.slice(0, colon));
  return {
    id,
    name,
    key: text
      .slice(colon + 1)
      .split('/')
      .filter(Boolean)
      .join('/'),
  };
}

function explainMissing(error: unknown, { key, name }: Place): unknown {
  const isMissing = error instanceof ApiRefusal && error.status === 404;
  return isMissing ? new ApiRefusal(404, `there is no file '${key}' in ${name}; a directory needs -r`) : error;
}
