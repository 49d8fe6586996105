import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

const WORKERS = fileURLToPath(new URL('../../workers/', import.meta.url));

/** By name: a worker's program, and a bare one that makes one request. */
const PROGRAMS = {
  'JavaScript kit': [
    process.execPath,
    '--input-type=module',
    '-e',
    `import { start } from '${WORKERS}javascript/podyard-worker.js'; await start({ handler: () => 1 });`,
  ],
  'JavaScript bare': [process.execPath, '-e', "require('node:http').get(process.env.RUNPOD_WEBHOOK_GET_JOB)"],
  'Python kit': [
    'python3',
    '-c',
    `import sys; sys.path.insert(0, '${WORKERS}python')\nfrom podyard_worker import start\nstart(lambda job: 1)`,
  ],
  'Python bare': [
    'python3',
    '-c',
    "import http.client, os, urllib.parse\nurl = urllib.parse.urlsplit(os.environ['RUNPOD_WEBHOOK_GET_JOB'])\n" +
      "c = http.client.HTTPConnection(url.hostname, url.port)\nc.request('GET', url.path)\nc.getresponse()",
  ],
} as const satisfies Record<string, readonly string[]>;

export type KitProgram = keyof typeof PROGRAMS;

/** Returns, by program, how long it took from its start until its first request arrived, in ms, in turns. */
export async function measureKits(rounds: number): Promise<Record<KitProgram, number[]>> {
  const found = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, [] as number[]]));
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/job-take/w`;
  const env = { PATH: process.env.PATH, RUNPOD_WEBHOOK_GET_JOB: url, RUNPOD_POD_ID: 'w' };
  for (let i = 0; i <= rounds; i++) {
    for (const [name, [command, ...args]] of Object.entries(PROGRAMS)) {
      const startedAt = performance.now();
      const program = spawn(command === 'python3' ? interpreter() : command, args, { env, stdio: 'ignore' });
      await once(server, 'request'); // and never answers
      if (i > 0) found[name]!.push(performance.now() - startedAt); // the first round reads files
      program.kill('SIGKILL');
      await once(program, 'exit');
    }
  }
  server.closeAllConnections();
  server.close();
  return found as Record<KitProgram, number[]>;
}

let python: string | undefined;

/** Python itself, not a shim that finds one. */
function interpreter(): string {
  python ??= execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  return python;
}
