/** Builds that fail on a real engine: the sentence they end with, and that nothing is left behind. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BASE, DOCKERFILE, ENDLESS, makeBase } from '../../../test/builder-contract/dockerfile-projects.ts';
import { CuttableProxy } from '../../../test/cuttable-proxy.ts';
import { docker, engineKind, hasEngine } from '../../../test/engine.ts';
import { findProcess, findProcesses } from '../../../test/find-processes.ts';
import { newId } from '../../core/ids.ts';
import { Engine } from '../../engine/engine.ts';
import { EngineImages } from '../../runtimes/docker/images/engine-images.ts';
import type { BuildEvent, BuildLimits, BuildRequest, BuiltImage } from '../builder.ts';
import { createEngineBuilder } from './engine-builder.ts';

const run = promisify(execFile);
const LIMITS: BuildLimits = { cpus: 1, memoryBytes: 128 * 2 ** 20, timeoutMs: 60_000, maxImageBytes: 1e9 };
const isPodman = engineKind?.builds === 'buildah';

/** Returns the greatest number of processes that the group of a process may have; empty if it has ended. */
function maxProcesses(pid: number): string {
  try {
    const [, version1, path] = /^\d+:(pids|):(.+)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))!;
    return readFileSync(join('/sys/fs/cgroup', version1!, path!, 'pids.max'), 'utf8').trim();
  } catch {
    return '';
  }
}

describe.skipIf(!hasEngine)('builds of an engine that go wrong', { timeout: 90_000 }, () => {
  const engine = new Engine(undefined);
  const images = new EngineImages(engine, {});
  const installation = newId<string>();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podyard-failures-'));
    await makeBase(engine);
  });
  afterAll(async () => {
    const builder = createEngineBuilder({ engine, installation });
    for (const { buildId } of await builder.list()) await builder.remove(buildId);
    await engine.close();
    await rm(folder, { recursive: true });
  });

  interface Wanted {
    request?: Partial<BuildRequest>;
    limits?: Partial<BuildLimits>;
    files?: Record<string, string>;
    through?: Engine;
    reserveBytes?: number;
    onEvent?(event: BuildEvent): void;
  }
  const requestOf = async (dockerfile: string | null, { request, files = {} }: Wanted): Promise<BuildRequest> => {
    const id = newId<string>();
    const context = await mkdtemp(join(folder, 'context-'));
    const all: Record<string, string> = { ...(dockerfile !== null && { Dockerfile: dockerfile }), ...files };
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(context, path)), { recursive: true });
      await writeFile(join(context, path), text);
    }
    const image = `builds.podyard.internal/failures:${id}`;
    const given = {
      args: {},
      secrets: {},
      registries: {},
      admitBase: async () => {},
      prepareBase: async (base: string) => {
        const auth = request?.registries?.[base.slice(0, base.indexOf('/'))];
        await images.prepare(base, { resolve: 'here', ...(auth && { auth }) });
      },
      usesCache: false,
      cacheScope: installation,
    };
    return { id, image, folder: context, recipe: DOCKERFILE, ...given, ...request };
  };
  const build = async (dockerfile: string | null, wanted: Wanted = {}): Promise<BuiltImage> => {
    const { through = engine, reserveBytes, onEvent = () => {}, limits } = wanted;
    const builder = createEngineBuilder({ engine: through, installation, ...(reserveBytes && { reserveBytes }) });
    const signal = new AbortController().signal;
    return builder.build(await requestOf(dockerfile, wanted), { limits: { ...LIMITS, ...limits }, onEvent, signal });
  };
  const refusal = (text: RegExp, kind = 'unprocessable') => ({ kind, message: expect.stringMatching(text) });

  test('the folder has no Dockerfile', async () => {
    await expect(build(null)).rejects.toMatchObject(refusal(/^There is no Dockerfile at 'Dockerfile'\.$/));
  });

  test('a line is no instruction', async () => {
    const answer = build(`FROM ${BASE}\nRUNN x\n`);
    await expect(answer).rejects.toMatchObject(
      refusal(isPodman ? /RUNN/ : /^Dockerfile, line 2: unknown instruction: RUNN/),
    );
  });

  test('the base image is in no registry that answers', async () => {
    const answer = build('FROM 127.0.0.1:9/private/base:1\nRUN true\n');
    await expect(answer).rejects.toMatchObject(
      refusal(
        /^The registry 127\.0\.0\.1:9 gave no usable answer for image '127\.0\.0\.1:9\/private\/base:1'\.$/,
        'unavailable',
      ),
    );
  });

  test('the registry of the base image gets the credentials of the build, and no other', async ({ skip }) => {
    skip(isPodman, 'it asks registries over TLS only');
    const seen: (string | undefined)[] = [];
    const registry = createServer(({ headers }, answer) => {
      seen.push(headers.authorization);
      answer.writeHead(401, { 'WWW-Authenticate': 'Basic realm="tests"' }).end();
    }).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
    const auth = { username: 'someone', password: 'pass-w0rd' };
    const answer = build(`FROM ${host}/base:1\n`, {
      request: { registries: { [host]: auth, 'other.example.com': { username: 'no', password: 'no' } } },
    });
    const error = await answer.catch((one) => one);
    registry.close();
    expect(error).toMatchObject(refusal(/credentials/));
    expect(String(error)).not.toContain('pass-w0rd');
    expect(seen).toContain(`Basic ${Buffer.from('someone:pass-w0rd').toString('base64')}`);
  });

  test('a file that a step copies is not in the folder', async () => {
    await expect(build(`FROM ${BASE}\nCOPY nothing.txt /\n`)).rejects.toMatchObject(
      refusal(/COPY nothing\.txt.*nothing\.txt/s),
    );
  });

  test('the stage does not exist', async () => {
    const recipe = { ...DOCKERFILE, target: 'final' };
    await expect(build(`FROM ${BASE} AS first\n`, { request: { recipe } })).rejects.toMatchObject(refusal(/final/));
  });

  test('a step that needs a network and has none says so', async () => {
    const answer = build(`FROM ${BASE}\nRUN echo "wget: bad address 'pypi.example.org'" >&2; exit 4\n`);
    await expect(answer).rejects.toMatchObject(refusal(/RUN echo.*exit code 4.*needs a network.*pypi\.example\.org/s));
  });

  test('a step that takes more memory than a build may have is killed', async () => {
    const hog = 'x=x; while true; do x=$x$x; done';
    const error = await build(`FROM ${BASE}\nRUN ${hog}\n`).catch((one) => one);
    expect(error).toMatchObject({ kind: 'unprocessable' });
    expect(error.message).toMatch(/exit code \d+\. It was killed.*128 MiB/s);
  });

  test('a step that forks without end is held at a number of processes, and ends with its build', async () => {
    const mark = `forks-without-end-${process.pid}`; // another engine's tests may run beside these
    const limits = new Set<string>();
    const timer = setInterval(() => {
      const pid = findProcess(mark);
      if (pid !== undefined) limits.add(maxProcesses(pid));
    }, 250);
    const lines: string[] = [];
    const onEvent = (event: BuildEvent) => void (event.kind === 'line' && lines.push(event.text));
    const fork = `f() { sh -c "sleep 600; : ${mark}" & }; while true; do f; done`;
    await expect(
      build(`FROM ${BASE}\nRUN ${fork}\n`, { limits: { timeoutMs: 8000, memoryBytes: 2 ** 30 }, onEvent }),
    ).rejects.toMatchObject(refusal(/8 s|exit code/));
    clearInterval(timer);
    expect(limits.has('4096') || lines.some((line) => line.includes("can't fork"))).toBe(true);
    await expect.poll(() => findProcesses(mark)).toEqual([]);
  });

  test('a step that fills the disk is ended while there is room', async () => {
    const { DockerRootDir } = await docker.info();
    const { bavail, bsize } = await statfs(DockerRootDir);
    const reserveBytes = bavail * bsize - 300e6;
    const fill = build(
      `FROM ${BASE}\nRUN while true; do dd if=/dev/zero of=/f$((i=i+1)) bs=1M count=16 2>/dev/null; sleep 0.05; done\n`,
      {
        reserveBytes,
      },
    );
    await expect(fill).rejects.toMatchObject(refusal(/almost full/, 'unavailable'));
  });

  test('the engine goes away in the middle', async () => {
    const path = join(folder, 'engine.sock');
    const target = process.env.DOCKER_HOST?.replace(/^unix:\/\//, '') ?? '/var/run/docker.sock';
    const proxy = new CuttableProxy({ path }, () => ({ path: target }));
    await proxy.connect();
    const through = new Engine(path);
    const answer = build(`FROM ${BASE}\nRUN echo started; while true; do ${ENDLESS}; done\n`, {
      through,
      onEvent: (event) => void (event.kind === 'line' && event.text === 'started' && proxy.cut()),
    });
    await expect(answer).rejects.toMatchObject(refusal(/went away|cannot be reached/, 'unavailable'));
    await expect.poll(() => findProcesses(ENDLESS)).toEqual([]);
    await through.close();
  });

  test('a process that is killed in the middle leaves nothing that runs, once the next one has begun', async () => {
    const request = await requestOf(`FROM ${BASE}\nRUN echo started; while true; do ${ENDLESS}; done\n`, {});
    const script = `
      const { Engine } = await import(${JSON.stringify(new URL('../../engine/engine.ts', import.meta.url).href)});
      const { createEngineBuilder } = await import(${JSON.stringify(new URL('./engine-builder.ts', import.meta.url).href)});
      const builder = createEngineBuilder({ engine: new Engine(undefined), installation: ${JSON.stringify(installation)} });
      const onEvent = (event) => event.text === 'started' && process.kill(process.pid, 'SIGKILL');
      const request = { ...${JSON.stringify(request)}, admitBase: async () => {}, prepareBase: async () => {} };
      await builder.build(request, { limits: ${JSON.stringify(LIMITS)}, onEvent, signal: new AbortController().signal });`;
    await expect(run(process.execPath, ['--input-type=module', '-e', script])).rejects.toMatchObject({
      signal: 'SIGKILL',
    });
    const next = createEngineBuilder({ engine, installation });
    await next.tidy();
    await expect.poll(() => findProcesses(ENDLESS)).toEqual([]);
    expect(await next.list()).toEqual([]);
  });

  test('of the cache goes what was not used for longest, until it has its size', async ({ skip }) => {
    skip((await engine.kind()).builds !== 'buildkit', 'it keeps no steps by their use');
    const builder = createEngineBuilder({ engine, installation });
    const cacheBytes = async () => {
      const { BuildCache } = await engine.json<{
        BuildCache: { Size: number; InUse: boolean; Shared: boolean }[] | null;
      }>({
        ...{ method: 'GET', path: '/system/df', timeoutMs: 120_000 },
      });
      return (BuildCache ?? []).filter(({ Shared }) => !Shared).reduce((sum, { Size }) => sum + Size, 0);
    };
    const dockerfileOf = (own: string) => `FROM ${BASE}\nRUN head -c 3000000 /dev/urandom >/file # ${own}\n`;
    const dockerfile = dockerfileOf(newId());
    for (const text of [dockerfileOf(newId()), dockerfile, dockerfile])
      await build(text, { request: { usesCache: true } });
    expect(await builder.trimCache((await cacheBytes()) + 1e12)).toBe(0);
    const trimOne = async () => builder.trimCache((await cacheBytes()) - 1);
    await expect.poll(trimOne).toBeGreaterThan(0); // 0 where another test's build ended in between
    const states: string[] = [];
    const onEvent = (event: BuildEvent) => void (event.kind === 'step' && states.push(event.state));
    await build(dockerfile, { request: { usesCache: true }, onEvent });
    expect(states).toContain('CACHED'); // the newest is the last to go
  });

  test('links and modes of the folder are kept, and what a link names is not sent', async () => {
    const request = await requestOf(`FROM ${BASE}\nCOPY . /app/\nRUN ls -l /app/link /app/run.sh && /app/run.sh\n`, {
      files: { 'run.sh': '#!/bin/sh\necho it runs\n' },
    });
    await run('chmod', ['751', join(request.folder, 'run.sh')]);
    await symlink('/etc/hostname', join(request.folder, 'link'));
    const lines: string[] = [];
    const onEvent = (event: BuildEvent) => void (event.kind === 'line' && lines.push(event.text));
    const signal = new AbortController().signal;
    await createEngineBuilder({ engine, installation }).build(request, { limits: LIMITS, onEvent, signal });
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^lrwx.*link -> \/etc\/hostname$/),
        expect.stringMatching(/^-rwxr-x--x.*run\.sh$/),
        'it runs',
      ]),
    );
  });

  test('all that the folder has is sent: what is to be ignored is not in it', async () => {
    const files = { '.dockerignore': '*\n.*\n', '.hidden/file.txt': 'sent', 'Dockerfile.dockerignore': '*\n' };
    await expect(
      build(`FROM ${BASE}\nCOPY . /app/\nRUN grep sent /app/.hidden/file.txt\n`, { files }),
    ).resolves.toBeDefined();
  });

  test('a secret is in no layer, not in the history and not in the settings of the image', async () => {
    const secret = `s3cr-${newId<string>()}`;
    const dockerfile = `FROM ${BASE}\nCOPY . /app\nRUN --mount=type=secret,id=TOKEN cut -c6- /run/secrets/TOKEN | wc -c > /app/length\n`;
    const { image } = await build(dockerfile, {
      request: { secrets: { TOKEN: secret } },
      files: { 'note.txt': 'a file of the folder' },
    });
    const saved = await new Promise<string>((resolve, reject) => {
      docker.getImage(image).get((error, archive) => {
        if (error || archive === undefined) return reject(error);
        return readText(archive as Readable).then(resolve, reject);
      });
    });
    const history = JSON.stringify(await docker.getImage(image).history());
    expect(saved).toContain('a file of the folder');
    for (const text of [saved, history]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.slice(5));
    }
  });
});
