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
import { encodeKey, type FoundFile, listKeys } from './volume-documents.ts';

export interface Place {
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
  let count: number | null = null;
  if (options.recursive) {
    await confirmDeletion(output, { what: `${key} of ${name} with everything in it`, name: key, id: key }, options);
    count = await removeAll(client, id, `${key}/`);
  }
  if (count === null) {
    await client.send('HEAD', path).catch((error) => Promise.reject(explainMissing(error, found, options)));
    await client.send('DELETE', path);
    count = 1;
  }
  if (options.json) output.print(jsonText({ key, deleted: count }));
  else output.note(`${key} is deleted.`);
}

/** Deletes a directory with all that is in it, innermost first; returns how many files that were. Null: there is none. */
async function removeAll(client: ApiClient, volumeId: string, prefix: string): Promise<number | null> {
  let count = 0;
  const folders = new Set<string>();
  for await (const { key } of listKeys(client, volumeId, prefix, '')) {
    folders.add(prefix);
    if (!key.endsWith('/')) {
      await client.send('DELETE', `/s3/${volumeId}/${encodeKey(key)}`);
      count += 1;
    }
    for (let end = key.lastIndexOf('/'); end >= prefix.length; end = key.lastIndexOf('/', end - 1))
      folders.add(key.slice(0, end + 1));
  }
  for (const folder of [...folders].sort((a, b) => b.length - a.length))
    await client.send('DELETE', `/s3/${volumeId}/${encodeKey(folder)}`);
  return folders.size === 0 ? null : count;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function isPlace(text: string): boolean {
  return /^[^/.:][^/:]*:/.test(text);
}

export async function findPlace(client: ApiClient, text: string): Promise<Place> {
  if (!isPlace(text)) throw new UsageError(`'${text}' is not <volume>:<path>; '${text}:' is all of a volume`);
  const colon = text.indexOf(':');
  const names = text
    .slice(colon + 1)
    .split('/')
    .filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new UsageError(`'${text}' has '..': name the path from the volume's top`);
  const { id, name } = await findRecord(client, RECORDS.volumes, text.slice(0, colon));
  return { id, name, key: names.join('/') };
}

export function explainMissing(error: unknown, { key, name }: Place, { recursive = false } = {}): unknown {
  if (!(error instanceof ApiRefusal) || error.status !== 404) return error;
  const what = recursive ? `file or directory '${key}' in ${name}` : `file '${key}' in ${name}; a directory needs -r`;
  return new ApiRefusal(404, `there is no ${what}`);
}
