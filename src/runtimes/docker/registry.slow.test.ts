import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
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
  const runtime = createDockerRuntime({ installation: newId(), gpus: new Map(), logger: silentLogger });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'podyard-registry-'));
    host = `127.0.0.1:${await freePort()}`;
    registry = await startRegistry(folder, host);
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
