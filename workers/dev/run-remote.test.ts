import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const SCRIPT = join(import.meta.dirname, 'run-remote.sh');

let folder: string;
let server: Server;
let pings: { query: URLSearchParams; authorization: string | undefined }[];
/** How many jobs the server fails at each ping. */
let failing: string[][];
let worker: ChildProcess;
let printed = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-run-remote-'));
  pings = [];
  printed = '';
  server = createServer((request, response) => {
    const { searchParams: query } = new URL(request.url!, 'http://localhost');
    pings.push({ query, authorization: request.headers.authorization });
    response.end(JSON.stringify({ jobs: failing.shift() ?? [] }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  worker.kill('SIGTERM');
  if (worker.exitCode === null) await once(worker, 'exit');
  server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts a program in a worker whose image has only these programs, and gives it its files. */
async function start(programs: Record<string, string>, command: string): Promise<void> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const name of ['sh', 'rm', 'mkdir', 'mv', 'sleep'])
    programs[name] = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  for (const [name, path] of Object.entries(programs)) await symlink(path, join(bin, name));
  const { port } = server.address() as AddressInfo;
  worker = spawn('/bin/sh', ['-c', await readFile(SCRIPT, 'utf8'), 'podyard', 'overlap', 'sh', '-c', command], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: bin, RUNPOD_WEBHOOK_PING: `http://127.0.0.1:${port}/ping?gpu=cpu`, RUNPOD_AI_API_KEY: 'token' },
  });
  worker.stdout!.on('data', (chunk) => {
    printed += chunk;
  });
  await expect.poll(() => existsSync(join(folder, '.podyard-dev/pid'))).toBe(true);
  const again = join(folder, '.podyard-dev/again');
  await writeFile(again, '');
  await expect.poll(() => worker.kill('SIGHUP') && existsSync(again)).toBe(false); // as take-files.sh does
}

test.each([
  ['Node.js', { node: process.execPath }],
  ['Python', { python: '/usr/bin/python3' }],
])(
  'in an image with %s alone, a program that ends fails its jobs, and runs again until it had none',
  async (_, programs) => {
    failing = [['a'], ['b', 'c'], []];
    await start(programs, 'echo begun; [ -e second ] && kill -9 $$; : >second; exit 3');
    await expect.poll(() => printed).toContain('It runs again when you save a file');
    expect(printed.match(/begun/g)).toHaveLength(3);
    expect(printed).toContain('! The program ended (exit code 3)\n! Its job has failed with it: it runs again\n');
    expect(printed).toContain('! The program ended (SIGKILL)\n! Its 2 jobs have failed with it: it runs again\n');
    const reasons = pings.map(({ query }) => query.get('reason'));
    expect(reasons).toEqual(['exit code 3', 'SIGKILL', 'SIGKILL'].map((how) => `The program ended (${how})`));
    for (const { query, authorization } of pings) {
      expect(authorization).toBe('token');
      expect(Object.fromEntries(query)).toMatchObject({ gpu: 'cpu', status: 'ended', log: 'true' });
      expect(Number(query.get('since'))).toBeGreaterThanOrEqual(0);
    }
  },
);
