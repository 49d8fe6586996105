import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { MAIN } from '../podyard-main.ts';
import { Api, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';

const SESSIONS = 3;
/** How much of a copy passes before it stalls, and how much there is. */
const STALLED_BYTES = 4 * 2 ** 20;
const COPIED_BYTES = 64 * 2 ** 20;

interface Session {
  status: string;
  endReason: string | null;
}

/** Checks what remains of sessions and copies whose client, server or connection is gone. `folder`: one that is mounted. */
export function cutSessionTests(runtime: TestedRuntime, place: () => RuntimePlace = () => ({})): void {
  let server: ServerProcess;
  let api: Api;
  let link: Link;
  let podId: string;
  let home: string;
  let here: string;
  let there: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    const { env, ...rest } = place();
    const limits = { PODYARD_TERMINALS_PER_USER: String(SESSIONS) };
    server = await ServerProcess.start({ runtime, ...rest, env: { ...env, ...limits } });
    api = new Api(server);
    home = await mkdtemp(join(tmpdir(), 'podyard-cut-'));
    const args = JSON.stringify({ entrypoint: ['sleep', '6000'] });
    const body = { name: 'box', image: 'podyard/echo-js:dev', args, gpu: { id: 'NVIDIA GeForce RTX 4090' } };
    podId = (await api.call<{ id: string }>('POST', '/v2/pods', body)).id;
    await until('the pod runs', async () => (await api.call<Session>('GET', `/v2/pods/${podId}`)).status === 'RUNNING');
  });
  afterAll(async () => {
    await server?.dispose();
    if (home) await rm(home, { recursive: true, force: true });
  });
  beforeEach(async () => {
    if (!server.isRunning) await server.start();
    link = await Link.open(server.url);
    here = await mkdtemp(join(home, 'here-'));
    there = `/tmp/podyard-cut-${randomUUID()}`;
    await shell('mkdir -p "$1"', there);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await link.close();
    await shell('rm -rf "$1"', there); // with processes, it is a folder of this machine
  });

  /** Runs a script in the pod, also while the server is stopped. */
  const shell = (script: string, ...args: string[]) => server.runIn(podId, ['sh', '-c', script, 'sh', ...args]);
  const command = (...args: string[]): ChildProcess => {
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', PODYARD_URL: link.url, PODYARD_API_KEY: server.key };
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  /** Begins a program that ignores SIGHUP, as does what it starts. `token` is in their command lines. */
  const begin = async (token: string, ...options: string[]) => {
    const script = `trap "" HUP; sleep ${token} & echo "ready"; wait`;
    const child = command('exec', ...options, 'box', '--', 'sh', '-c', script);
    await new Promise<void>((resolve, reject) => {
      child.stdout!.on('data', (chunk) => String(chunk).includes('ready') && resolve());
      child.once('exit', async () => reject(new Error(`it ended: ${await text(child.stderr!)}`)));
    });
  };
  /** Counts the processes in the pod with `token` in their command lines; not itself. */
  const count = async (token: string) => {
    const pattern = `[${token[0]}]${token.slice(1)}`;
    return (await shell('grep -ls "$1" /proc/[0-9]*/cmdline', pattern)).split('\n').length - 1;
  };
  const beginAll = async (token: string) => {
    await Promise.all([begin(token), begin(token, '-n'), begin(token, '-t')]);
    expect(await count(token)).toBeGreaterThanOrEqual(2 * SESSIONS);
  };
  const newToken = () => String(1_000_000 + Math.floor(Math.random() * 1_000_000));

  test('programs end when their server is killed, and their sessions are free as soon as one is back', async () => {
    const token = newToken();
    await beginAll(token);
    await server.kill();
    await until('no program is left', async () => (await count(token)) === 0);
    await server.start();
    await beginAll(newToken());
    const { terminals } = await api.call<{ terminals: Session[] }>('GET', '/v2/account/terminals');
    const ended = { status: 'ENDED', endReason: 'the server process that served it is gone' };
    expect(terminals.slice(SESSIONS)).toEqual(Array(SESSIONS).fill(expect.objectContaining(ended)));
  });

  test('the next server ends the programs of a killed one that nothing else has ended', async () => {
    const token = newToken();
    await beginAll(token);
    const killGuards = `for folder in /proc/[0-9]*; do
      if grep -qs "$1" "$folder/environ" && grep -qs 'PODYARD_EXE[C]' "$folder/cmdline"; then kill -9 "\${folder#/proc/}"; fi
    done`;
    await shell(killGuards, podId);
    await server.kill();
    expect(await count(token)).toBeGreaterThanOrEqual(SESSIONS);
    await server.start();
    await until('no program is left', async () => (await count(token)) === 0, 60_000);
  });

  const cuts: Record<string, (client: ChildProcess) => unknown> = {
    'its client is killed': (client) => client.kill('SIGKILL'),
    'its client is interrupted': (client) => client.kill('SIGINT'),
    'its server is killed': () => server.kill(),
    'its connection is cut': () => link.cut(),
  };

  test.each(Object.keys(cuts))('a copy into a pod leaves nothing there when %s', async (cut) => {
    const source = join(here, 'data');
    await mkdir(source);
    await writeFile(join(source, 'a'), 'first');
    await writeFile(join(source, 'b'), '');
    await truncate(join(source, 'b'), COPIED_BYTES);
    link.stallUploadAfter(STALLED_BYTES);
    const client = command('cp', source, `box:${there}/data`);
    const hasPart = 'for file in "$1"/.podyard-copy-*/content/b; do [ ! -s "$file" ] || echo yes; done';
    await until('a part has arrived', async () => (await shell(hasPart, there)) !== '');
    const exit = once(client, 'exit');
    await cuts[cut]!(client);
    const [status] = await exit;
    expect(status).not.toBe(0);
    await until('nothing is left', async () => (await shell('ls -A "$1"', there)) === '');
  });

  test.each(Object.keys(cuts))('a copy out of a pod leaves nothing here when %s', async (cut) => {
    const fill = `require('node:fs').writeFileSync(process.argv[1], Buffer.alloc(${COPIED_BYTES}))`;
    await shell('echo first >"$1/a"; node -e "$2" "$1/b"', there, fill);
    link.stallDownloadAfter(STALLED_BYTES);
    const client = command('cp', `box:${there}`, join(here, 'data'));
    const hasPart = async () => (await readdir(here, { recursive: true })).some((path) => path.endsWith('/b'));
    await until('a part has arrived', hasPart);
    const exit = once(client, 'exit');
    await cuts[cut]!(client);
    const [status] = await exit;
    expect(status).not.toBe(0);
    await until('nothing is left', async () => (await readdir(here)).length === 0);
  });
}

/** Connections to a server that can stall, and be cut. */
class Link {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #limits = { up: Number.POSITIVE_INFINITY, down: Number.POSITIVE_INFINITY };

  static async open(serverUrl: string): Promise<Link> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Link(server, Number(new URL(serverUrl).port));
  }

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (client) => {
      const inner = connect(port, '127.0.0.1');
      this.#join(client, inner, 'up');
      this.#join(inner, client, 'down');
    });
  }

  stallUploadAfter(bytes: number): void {
    this.#limits.up = bytes;
  }

  stallDownloadAfter(bytes: number): void {
    this.#limits.down = bytes;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(from: Socket, to: Socket, way: 'up' | 'down'): void {
    this.#sockets.add(from);
    let passed = 0;
    from.on('data', (chunk: Buffer) => {
      passed += chunk.length;
      if (passed > this.#limits[way]) from.pause();
      else if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      if (passed <= this.#limits[way]) from.resume();
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
