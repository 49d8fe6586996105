import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Runtime } from '../runtime.ts';
import { createDockerRuntime } from './docker-runtime.ts';
import { buildImage } from './example-images.ts';

const docker = new Docker();
const isPossible = (await docker.ping().catch(() => undefined)) !== undefined && hasRegistry();

function hasRegistry(): boolean {
  try {
    execFileSync('docker-registry', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

if (!isPossible && process.env.CI === 'true') {
  test('an engine and a registry are there', () =>
    expect.fail('with CI=true these tests need an engine and docker-registry'));
}

const AUTH = { username: 'puller', password: 'secret' };
/** The bcrypt hash of that password, which guards nothing but this test's own registry. */
const HTPASSWD = 'puller:$2y$05$9XqYdQu2OieanCRY2P.SKeTN/X5jIw/Zy8XuQHd0bE6J9raypBmJ2\n';

describe.skipIf(!isPossible)('images in a registry with a password', () => {
  let folder: string;
  let registry: ChildProcess;
  let host: string;
  let image: string;
  const installation = newId<string>();
  const open = (accessTtlMs?: number) =>
    createDockerRuntime({
      installation,
      gpus: new Map(),
      logger: silentLogger,
      stateDir: join(folder, 'state'),
      ...(accessTtlMs === undefined ? {} : { accessTtlMs }),
    });
  let runtime: Runtime;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'podyard-registry-'));
    host = `127.0.0.1:${await freePort()}`;
    registry = await startRegistry(folder, host);
    runtime = open();
    await buildImage({ name: 'podyard/echo-js', tag: 'dev', docker });
    image = `${host}/private/echo:v1`;
    await docker.getImage('podyard/echo-js:dev').tag({ repo: `${host}/private/echo`, tag: 'v1' });
    const push = await docker.getImage(image).push({ authconfig: { ...AUTH, serveraddress: host } });
    await new Promise((resolve, reject) =>
      docker.modem.followProgress(push, (error) => (error ? reject(error) : resolve(null))),
    );
    await docker.getImage(image).remove();
  });
  afterAll(async () => {
    await docker
      .getImage(image)
      .remove({ force: true })
      .catch(() => {});
    await runtime.close();
    const ended = once(registry, 'exit');
    registry.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });

  test('without credentials, with wrong ones, and for a missing tag the sentence says which it is', async () => {
    await expect(runtime.prepare(image)).rejects.toThrow('it is private and needs registry credentials');
    const wrong = { ...AUTH, password: 'wrong' };
    await expect(runtime.prepare(image, { auth: wrong })).rejects.toThrow(
      `The registry ${host} refused the credentials`,
    );
    const missing = `${host}/private/echo:v9`;
    await expect(runtime.prepare(missing, { auth: AUTH })).rejects.toThrow(
      `'${missing}' does not exist in the registry`,
    );
  });

  test('with credentials it is pulled, and what was removed meanwhile is pulled again', async () => {
    const lines: string[] = [];
    await runtime.prepare(image, { auth: AUTH, onProgress: (line) => lines.push(line) });
    expect(lines.at(-1)).toMatch(/^Pulled image .* in [\d.]+ s$/);
    await docker.getImage(image).remove();
    const spec = {
      id: newId<string>(),
      kind: 'worker',
      image,
      args: '',
      env: {},
      diskGb: 1,
      ports: [],
      gpu: null,
      memoryBytes: null,
      cpus: null,
      mounts: [],
    } as const;
    await expect(runtime.start(spec)).rejects.toThrow('is not present on this machine');
    await runtime.prepare(image, { auth: AUTH });
    await runtime.start(spec);
    await runtime.stop(spec.id, 0);
  });

  test('a private image that is there already is for those alone whom the registry lets have it', async () => {
    const wrong = { ...AUTH, password: 'wrong' };
    const { Id, RepoDigests } = await docker.getImage(image).inspect();
    for (const one of [runtime, open()]) {
      await expect(one.prepare(image)).rejects.toThrow('it is private and needs registry credentials');
      await expect(one.prepare(image, { auth: wrong })).rejects.toThrow('refused the credentials');
      for (const name of [Id, Id.slice(7, 19), RepoDigests[0]!]) await expect(one.prepare(name)).rejects.toThrow();
      await one.prepare(image, { auth: AUTH });
      await one.prepare('podyard/echo-js:dev'); // the same image, by the name that the operator gave it
    }
  });

  test('credentials that the registry takes no more start nothing new', async () => {
    const doubting = open(0);
    await doubting.prepare(image, { auth: AUTH });
    const htpasswd = join(folder, 'htpasswd');
    writeFileSync(htpasswd, HTPASSWD.replace('puller', 'other'));
    utimesSync(htpasswd, new Date(), new Date(Date.now() + 10_000)); // the registry looks at the time alone
    await expect(doubting.prepare(image, { auth: AUTH })).rejects.toThrow('refused the credentials');
    await runtime.prepare(image, { auth: AUTH }); // believed for some minutes
    writeFileSync(htpasswd, HTPASSWD);
    utimesSync(htpasswd, new Date(), new Date(Date.now() + 20_000));
    await doubting.prepare(image, { auth: AUTH });
  });

  test('while the registry is away, whoever had the right goes on, and nobody else begins', async () => {
    const doubting = open(0);
    await doubting.prepare(image, { auth: AUTH });
    const ended = once(registry, 'exit');
    registry.kill();
    await ended;
    await doubting.prepare(image, { auth: AUTH });
    await expect(doubting.prepare(image)).rejects.toThrow(`The registry ${host} could not be reached`);
    await expect(open().prepare(image, { auth: AUTH })).rejects.toThrow(`The registry ${host} could not be reached`);
    registry = await startRegistry(folder, host);
    await open().prepare(image, { auth: AUTH });
  });
});

async function startRegistry(folder: string, addr: string): Promise<ChildProcess> {
  writeFileSync(join(folder, 'htpasswd'), HTPASSWD);
  // JSON is YAML, too.
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr },
    auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } },
  };
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(config));
  const registry = spawn('docker-registry', ['serve', join(folder, 'config.yml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: registry.stderr! })) {
    if (line.includes('listening on')) break;
  }
  registry.stderr!.resume();
  return registry;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
