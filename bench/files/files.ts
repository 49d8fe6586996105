import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ServerProcess } from '../../test/e2e/server-process.ts';
import { median } from '../median.ts';
import { readOptions } from '../options.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';
import { cpuMsOf } from './cpu.ts';
import { type Listing, measureListings, type Shape, shapeNames } from './listing.ts';

/** A place that takes files by PUT and gives them by GET. */
interface Place {
  url: string;
  key: string | null;
  pid: number;
  /** Where its files are if it does not synchronize them itself: then the client does after each put. */
  unsynced: string | null;
}

/** In ms: how long it took, and how much of the CPU the server's process used. */
interface Cost {
  ms: number;
  cpuMs: number;
}

type Part = 'large' | 'small' | 'listing';

interface Large {
  put: Cost;
  get: Cost;
}

interface Round {
  large: { podyard: Large; nginx: Large } | null;
  small: { podyard: Cost; rclone: Cost } | null;
}

const SMALL = Buffer.alloc(4_096, 'x');
const AT_ONCE = 16;
const NGINX_PORT = 18_431;
const RCLONE_PORT = 18_432;

/** `node bench/main.ts files`: see bench/README.md. Prints a table, writes JSON. */
export async function benchFiles(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '3' },
    objects: { type: 'string', default: '10000' },
    listed: { type: 'string', default: '1000000' },
    pages: { type: 'string', default: '200' },
    shapes: { type: 'string', default: shapeNames.join(',') },
    mib: { type: 'string', default: '1024' },
    parts: { type: 'string', default: 'large,small,listing' },
    'cpu-prof': { type: 'string' },
  });
  const parts = values.parts.split(',');
  const has = (part: Part) => parts.includes(part);
  const startedAt = new Date().toISOString();
  const folder = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const profile = values['cpu-prof'];
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const env = { NODE_OPTIONS: ['--max-semi-space-size=16', ...profiling].join(' ') }; // the first as in bin/podyard and the image
  const server = await ServerProcess.start({ runtime: 'simulated', env });
  const peers = [await startNginx(folder), startRclone(folder)] as const;
  try {
    const volume = await createVolume(server);
    const [nginxProcess, rcloneProcess] = peers;
    const podyard = { url: `${server.url}/s3/${volume}`, key: server.key, pid: server.pid, unsynced: null };
    const nginx = {
      ...{ url: `http://127.0.0.1:${NGINX_PORT}`, key: null, pid: nginxProcess.pid! },
      unsynced: join(folder, 'nginx'),
    };
    const rclone = {
      ...{ url: `http://127.0.0.1:${RCLONE_PORT}`, key: null, pid: rcloneProcess.pid! },
      unsynced: join(folder, 'rclone'),
    };
    const rounds: Round[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const large = has('large') ? await compareLarge(folder, Number(values.mib), podyard, nginx) : null;
      const small = has('small') ? await compareSmall(Number(values.objects), podyard, rclone) : null;
      rounds.push({ large, small });
    }
    const listings = has('listing')
      ? await measureListings(server, volume, {
          ...{ count: Number(values.listed), pages: Number(values.pages), shapes: readShapes(values.shapes) },
          onListed: (listing) => process.stderr.write(`${JSON.stringify(listing)}\n`),
        })
      : [];
    const gib = Number(values.mib) / 1_024;
    if (rounds.some(({ large, small }) => large ?? small)) process.stdout.write(renderTable(toRows(rounds, gib)));
    if (listings.length > 0) process.stdout.write(renderTable(toListingRows(listings)));
    const report = { startedAt, machine: describeMachine(folder), rounds, listings };
    await writeResults('files', report);
  } finally {
    for (const peer of peers) peer.kill();
    if (profile !== undefined) await server.stop(); // it writes its profile
    await server.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

function toRows(rounds: Round[], gib: number): string[][] {
  const large = (of: keyof Large) =>
    rowOf(
      `${of} of 1 GiB, nginx`,
      rounds,
      gib,
      (round) => round.large && [round.large.podyard[of], round.large.nginx[of]],
    );
  return [
    ['', 'peer / Podyard, time', 'CPU of the server', 'CPU of Podyard, ms', 'of the peer'],
    ...large('put'),
    ...large('get'),
    ...rowOf('puts of 4 KiB, rclone serve webdav', rounds, 1, ({ small }) => small && [small.podyard, small.rclone]),
  ];
}

function toListingRows(listings: readonly Listing[]): string[][] {
  const head = [
    'directories',
    'keys',
    'first page, ms',
    'its CPU',
    'later, p50',
    'slowest',
    'CPU of a page',
    'memory, MiB',
  ];
  const rows = listings.map((listing) => {
    const { shape, keys, firstMs, firstCpuMs, laterMs, slowestMs, pageCpuMs, memoryMib } = listing;
    return [
      shape,
      keys,
      ...[firstMs, firstCpuMs, laterMs, slowestMs, pageCpuMs, memoryMib].map((value) => value.toFixed(0)),
    ];
  });
  return [head, ...rows.map((row) => row.map(String))];
}

/** Medians over the rounds; `units`: how much of what its name says a round has. */
function rowOf(name: string, rounds: Round[], units: number, read: (round: Round) => [Cost, Cost] | null): string[][] {
  const pairs = rounds.flatMap((round) => [read(round)].filter((pair) => pair !== null));
  if (pairs.length === 0) return [];
  const ratio = (of: keyof Cost) => median(pairs.map(([own, peer]) => peer[of] / own[of])).toFixed(2);
  const cpu = (i: 0 | 1) => (median(pairs.map((pair) => pair[i].cpuMs)) / units).toFixed(0);
  return [[name, ratio('ms'), ratio('cpuMs'), cpu(0), cpu(1)]];
}

async function createVolume({ url, key }: ServerProcess): Promise<string> {
  const body = JSON.stringify({ name: 'bench', size: 100, dataCenter: 'LOCAL-1' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v2/network-volumes`, { method: 'POST', headers, body });
  return ((await response.json()) as { id: string }).id;
}

async function startNginx(folder: string) {
  await mkdir(join(folder, 'nginx/temporary'), { recursive: true, mode: 0o777 });
  const config = join(folder, 'nginx.conf');
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log; user root;
     events {}
     http { access_log off; sendfile on; client_max_body_size 0;
       client_body_temp_path ${folder}/nginx/temporary;
       server { listen 127.0.0.1:${NGINX_PORT}; root ${folder}/nginx; dav_methods PUT; create_full_put_path on; } }`,
  );
  return spawn('/usr/sbin/nginx', ['-c', config, '-e', join(folder, 'nginx.log')], { stdio: 'ignore' });
}

function startRclone(folder: string) {
  const path = join(folder, 'rclone');
  return spawn('sh', ['-c', `mkdir -p ${path} && exec rclone serve webdav ${path} --addr 127.0.0.1:${RCLONE_PORT}`], {
    stdio: 'ignore',
  });
}

/** With curl, so that the client is not what is measured. */
async function compareLarge(folder: string, mib: number, podyard: Place, nginx: Place): Promise<Round['large']> {
  const file = join(folder, 'large');
  await writeFile(file, '');
  await truncate(file, mib * 2 ** 20);
  const measure = async (place: Place) => ({
    put: await costOf(place, async () => {
      await curl(place, ['-T', file]);
      await synchronize(place, 'large');
    }),
    get: await costOf(place, () => curl(place, ['-o', '/dev/null'])),
  });
  return { podyard: await measure(podyard), nginx: await measure(nginx) };
}

async function curl({ url, key }: Place, args: string[]): Promise<void> {
  const more = key === null ? [] : ['-H', `Authorization: Bearer ${key}`];
  await promisify(execFile)('curl', ['-sSf', ...more, ...args, `${url}/large`]);
}

async function costOf({ pid }: Place, work: () => Promise<unknown>): Promise<Cost> {
  const [startedAt, cpuBefore] = [performance.now(), await cpuMsOf(pid)];
  await work();
  return { ms: performance.now() - startedAt, cpuMs: (await cpuMsOf(pid)) - cpuBefore };
}

async function synchronize({ unsynced }: Place, name: string): Promise<void> {
  if (unsynced === null) return;
  const file = await open(join(unsynced, name), 'r+');
  await file.datasync();
  await file.close();
}

async function compareSmall(count: number, podyard: Place, rclone: Place): Promise<Round['small']> {
  return { podyard: await putSmall(podyard, count), rclone: await putSmall(rclone, count) };
}

async function putSmall(place: Place, count: number): Promise<Cost> {
  const { url, key } = place;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const headers = { 'content-length': SMALL.length, ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
  const put = (name: string) =>
    new Promise<void>((resolve, reject) => {
      const sent = request(`${url}/${name}`, { method: 'PUT', agent, headers }, (response) => {
        response.resume();
        response.on('end', resolve);
        if (response.statusCode! >= 300) reject(new Error(`${url} responded with ${response.statusCode}`));
      });
      sent.on('error', reject);
      sent.end(SMALL);
    });
  for (let attempt = 0; attempt < 50; attempt++) {
    const isUp = await put('first').then(
      () => true,
      () => false,
    );
    if (isUp) break;
    await sleep(100);
  }
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const name = `small-${next++}`;
      await put(name);
      await synchronize(place, name);
    }
  };
  const cost = await costOf(place, () => Promise.all(Array.from({ length: AT_ONCE }, worker)));
  agent.destroy();
  return cost;
}

function readShapes(text: string): Shape[] {
  const shapes = text.split(',');
  const unknown = shapes.find((shape) => !shapeNames.includes(shape as Shape));
  if (unknown !== undefined) throw new Error(`there is no shape '${unknown}': there are ${shapeNames.join(', ')}`);
  return shapes as Shape[];
}
