import type { BigIntStats } from 'node:fs';
import { within } from '../../../runtimes/directories/folder.ts';
import { etagOf } from '../etag.ts';
import { dateOf } from '../file-time.ts';
import { sendXml, type VolumeCall } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';
import { numberOf } from '../s3-request.ts';
import type { XmlElements } from '../s3-xml.ts';
import { encodeStrictly } from '../signature.ts';
import { fromBytes, toBytes } from './key-bytes.ts';
import { orGone } from './or-gone.ts';
import { type FoundKey, walkKeys } from './walk-keys.ts';

const MAX_KEYS = 1_000;
/** Files that are looked at together: with all of a page, most of what V8 would collect young grows old. */
const LOOKS = 64;

/** ListObjectsV2. */
export async function listObjectsV2(call: VolumeCall): Promise<void> {
  const { query } = call.request;
  const token = query.get('continuation-token');
  const startAfter = query.get('start-after') ?? '';
  const options = { ...readOptions(call), hasOwners: query.get('fetch-owner') === 'true' };
  const after = token === undefined ? toBytes(startAfter) : fromToken(token);
  const page = await readPage(call, { ...options, after, isContinued: token !== undefined });
  sendXml(call.res, 200, 'ListBucketResult', {
    ...describe(call, options, page),
    KeyCount: page.found.length,
    ContinuationToken: token,
    NextContinuationToken: page.next === null ? undefined : Buffer.from(page.next, 'latin1').toString('base64url'),
    StartAfter: startAfter === '' ? undefined : options.encode(startAfter),
  });
}

/** ListObjects, the first version, which some clients still use. */
export async function listObjectsV1(call: VolumeCall): Promise<void> {
  const marker = call.request.query.get('marker') ?? '';
  const options = { ...readOptions(call), hasOwners: true };
  const page = await readPage(call, { ...options, after: toBytes(marker), isContinued: marker !== '' });
  sendXml(call.res, 200, 'ListBucketResult', {
    ...describe(call, options, page),
    Marker: options.encode(marker),
    NextMarker: page.next === null ? undefined : options.encode(fromBytes(page.next)),
  });
}

interface Options {
  prefix: string;
  delimiter: string;
  maxKeys: number;
  encode: (text: string) => string;
  /** Whether each object names its owner: in the first version always. */
  hasOwners: boolean;
}

interface Page {
  found: readonly FoundKey[];
  facts: ReadonlyMap<string, BigIntStats>;
  /** After which key the next page begins; null: there is none. */
  next: string | null;
}

function readOptions({ request }: VolumeCall): Omit<Options, 'hasOwners'> {
  const { query } = request;
  const delimiter = query.get('delimiter') ?? '';
  if (delimiter !== '' && delimiter !== '/')
    throw new S3Error('NotImplemented', 'A listing can be delimited by / only: keys are paths of files.');
  const encoding = query.get('encoding-type');
  if (encoding !== undefined && encoding !== 'url') throw new S3Error('InvalidArgument', 'encoding-type must be url.');
  const maxKeys = Math.min(numberOf(request, 'max-keys') ?? MAX_KEYS, MAX_KEYS);
  const encode = encoding === undefined ? (text: string) => text : encodeKey;
  return { prefix: query.get('prefix') ?? '', delimiter, maxKeys, encode };
}

/** Slashes stay. */
function encodeKey(text: string): string {
  return encodeStrictly(text).replaceAll('%2F', '/');
}

function fromToken(token: string): string {
  const after = Buffer.from(token, 'base64url');
  if (after.length === 0 || after.toString('base64url') !== token)
    throw new S3Error('InvalidArgument', 'The continuation token is not one of this server.');
  return after.toString('latin1');
}

async function readPage(
  { deps: { names }, root, volume }: VolumeCall,
  { prefix, delimiter, maxKeys, after, isContinued }: Options & { after: string; isContinued: boolean },
): Promise<Page> {
  const found: FoundKey[] = [];
  if (maxKeys === 0) return { found, facts: new Map(), next: null };
  const byDirectory = delimiter === '/';
  const options = { names, owner: volume.userId, prefix: toBytes(prefix), byDirectory, after, isContinued };
  let isTruncated = false;
  await names.inTurn(volume.userId, async () => {
    for await (const one of walkKeys(root, options)) {
      isTruncated = found.length === maxKeys;
      if (isTruncated) break;
      found.push(one);
    }
  });
  const facts = await readFacts(root, found);
  // Objects that went away since their names were read are left out.
  const present = found.filter(({ key, isPrefix }) => isPrefix || facts.has(key));
  return { found: present, facts, next: isTruncated ? found.at(-1)!.key : null };
}

/** Looks at the files of a page that have not been looked at, directory by directory. */
async function readFacts(root: VolumeCall['root'], found: readonly FoundKey[]): Promise<Map<string, BigIntStats>> {
  const facts = new Map<string, BigIntStats>();
  const byParent = new Map<string, string[]>();
  for (const { key, isPrefix, stats } of found) {
    if (stats) facts.set(key, stats);
    if (isPrefix || stats !== undefined) continue;
    const path = key.endsWith('/') ? key.slice(0, -1) : key;
    const parent = path.slice(0, path.lastIndexOf('/') + 1);
    const keys = byParent.get(parent);
    if (keys) keys.push(key);
    else byParent.set(parent, [key]);
  }
  for (const [parent, keys] of byParent) {
    const names = parent === '' ? [] : parent.slice(0, -1).split('/').map(fromBytes);
    const read = within(root, names, false, async (folder) => {
      const look = async (key: string) => {
        const name = fromBytes(key.slice(parent.length).replace(/\/$/, ''));
        const stats = await folder.look(name).catch(orGone);
        if (stats && (key.endsWith('/') ? stats.isDirectory() : stats.isFile())) facts.set(key, stats);
      };
      for (let at = 0; at < keys.length; at += LOOKS) await Promise.all(keys.slice(at, at + LOOKS).map(look));
    });
    await read.catch(orGone);
  }
  return facts;
}

function describe({ volume }: VolumeCall, options: Options, { found, facts, next }: Page): XmlElements {
  const { prefix, delimiter, maxKeys, encode } = options;
  const isUrl = encode === encodeKey;
  const owner = options.hasOwners ? { ID: volume.userId, DisplayName: volume.userId } : undefined;
  const contents = found.flatMap(({ key, isPrefix }) => {
    const stats = facts.get(key);
    if (isPrefix || !stats) return [];
    return [
      {
        Key: encode(fromBytes(key)),
        LastModified: dateOf(Number(stats.mtimeMs)).toISOString(),
        ETag: etagOf(stats),
        Size: stats.isFile() ? Number(stats.size) : 0,
        StorageClass: 'STANDARD',
        Owner: owner,
      },
    ];
  });
  const prefixes = found.filter(({ isPrefix }) => isPrefix).map(({ key }) => ({ Prefix: encode(fromBytes(key)) }));
  return {
    Name: volume.id,
    Prefix: encode(prefix),
    Delimiter: delimiter === '' ? undefined : delimiter,
    MaxKeys: maxKeys,
    EncodingType: isUrl ? 'url' : undefined,
    IsTruncated: next !== null,
    Contents: contents,
    CommonPrefixes: prefixes,
  };
}
