import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { ServerProcess } from '../../test/e2e/server-process.ts';
import { median } from '../median.ts';
import { cpuMsOf } from './cpu.ts';

/** How many names a directory has; all directories of a shape are beside each other. */
const SHAPES = { 'one directory': Number.POSITIVE_INFINITY, '1000 each': 1_000, '1 each': 1 };
export type Shape = keyof typeof SHAPES;

export interface Listing {
  shape: Shape;
  keys: number;
  firstMs: number;
  firstCpuMs: number;
  laterMs: number;
  slowestMs: number;
  /** For each page but the first, of the server's process. */
  pageCpuMs: number;
  /** At its peak, above what the server took before. */
  memoryMib: number;
}

interface Options {
  /** How many names there are. */
  count: number;
  /** How many pages are read of them. */
  pages: number;
  shapes: readonly Shape[];
  onListed: (listing: Listing) => void;
}

export const shapeNames = Object.keys(SHAPES) as Shape[];

/** Lists each shape with Amazon's client. */
export async function measureListings(
  server: ServerProcess,
  volume: string,
  { count, pages, shapes, onListed }: Options,
): Promise<Listing[]> {
  const client = await openClient(server);
  const listings: Listing[] = [];
  const storage = join(server.dataDir, 'storage');
  await fetch(`${server.url}/s3/${volume}/few/first`, { ...auth(server), method: 'PUT', body: '' }); // makes the folders
  const [installation] = await readdir(storage);
  const path = join(storage, installation!, 'volumes', 'LOCAL-1', volume);
  await client.send(new ListObjectsV2Command({ Bucket: volume, Prefix: 'few/' })); // loads what only a listing uses
  for (const shape of shapes) {
    await fill(path, Math.min(count, SHAPES[shape]), count);
    await sleep(1_100); // a directory that has just changed is not remembered
    const listing = { shape, ...(await measure(server, client, volume, pages)) };
    onListed(listing);
    listings.push(listing);
    await rm(join(path, 'many'), { recursive: true });
  }
  client.destroy();
  return listings;
}

async function fill(path: string, each: number, count: number): Promise<void> {
  const names = `BEGIN { for (i = 0; i < ${count}; i++) print "many/d" int(i / ${each}) NAME }`;
  const list = (name: string) => `awk '${names.replace('NAME', name)}'`;
  const script = `mkdir many && ${list('""')} | uniq | xargs mkdir && ${list('"/file-" i ".bin"')} | xargs touch`;
  await promisify(execFile)('sh', ['-c', script], { cwd: path });
}

async function measure(
  server: ServerProcess,
  client: S3Client,
  Bucket: string,
  pages: number,
): Promise<Omit<Listing, 'shape'>> {
  await writeFile(`/proc/${server.pid}/clear_refs`, '5'); // the peak begins anew
  const before = await memoryOf(server, 'VmRSS');
  const times: number[] = [];
  const cpuBefore = await cpuMsOf(server.pid);
  let [keys, last, cpuAfterFirst] = [0, '', 0];
  for (let token: string | undefined, isMore = true; isMore; ) {
    const startedAt = performance.now();
    const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'many/', ContinuationToken: token }));
    times.push(performance.now() - startedAt);
    if (times.length === 1) cpuAfterFirst = await cpuMsOf(server.pid);
    for (const { Key } of page.Contents ?? []) {
      if (Key! <= last) throw new Error(`${Key} came after ${last}`);
      last = Key!;
      keys += 1;
    }
    token = page.NextContinuationToken;
    isMore = page.IsTruncated === true && times.length <= pages;
  }
  const [firstMs, ...later] = times;
  return {
    ...{
      keys,
      firstMs: firstMs!,
      firstCpuMs: cpuAfterFirst - cpuBefore,
      laterMs: median(later),
      slowestMs: Math.max(...later),
    },
    pageCpuMs: ((await cpuMsOf(server.pid)) - cpuAfterFirst) / later.length,
    memoryMib: (await memoryOf(server, 'VmHWM')) - before,
  };
}

/** Resident memory of the server in MiB. */
async function memoryOf(server: ServerProcess, name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1_024;
}

async function openClient(server: ServerProcess): Promise<S3Client> {
  const body = JSON.stringify({ name: 'bench', scopes: ['files:read'] });
  const response = await fetch(`${server.url}/v2/account/s3-keys`, { ...auth(server), method: 'POST', body });
  const { id, secret } = (await response.json()) as { id: string; secret: string };
  return new S3Client({
    ...{ endpoint: `${server.url}/s3`, region: 'LOCAL-1', forcePathStyle: true, maxAttempts: 1 },
    credentials: { accessKeyId: id, secretAccessKey: secret },
  });
}

function auth({ key }: ServerProcess): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' } };
}
