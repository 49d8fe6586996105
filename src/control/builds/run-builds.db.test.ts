import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { digestOf, fileEntry, RECIPE } from '../../../test/build-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { Builder, BuildOptions, BuildRequest, BuiltImage } from '../../builders/builder.ts';
import { Failure } from '../../core/errors.ts';
import { type BuildId, newId, type UserId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import type { Build, FolderEntry } from '../../domain/builds/build.ts';
import { storeFile } from '../../domain/builds/build-files.ts';
import { buildImageOf } from '../../domain/builds/build-image.ts';
import { getBuild } from '../../domain/builds/build-store.ts';
import { cancelBuild, createBuild, type NewBuild, retryBuild } from '../../domain/builds/change-build.ts';
import { followBuildLog } from '../../domain/builds/follow-build-log.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';
import { change } from '../../domain/change.ts';
import { createRegistry } from '../../domain/registries/change-registry.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { BuildRunner } from './run-builds.ts';

const LIMITS = { cpus: 1, memoryBytes: 1e9, timeoutMs: 1e6, maxImageBytes: 1e9 };
const secretBox = createSecretBox(randomBytes(32));

let database: TestDatabase;
let bus: Bus;
let folder: string;
let anna: UserId;
let builder: FakeBuilder;
let runner: BuildRunner;
const admitted: [image: string, auth: unknown][] = [];
const prepared: [image: string, options?: object][] = [];
const admitImage = async (...asked: [string, unknown?]) => void admitted.push([asked[0], asked[1]]);
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({
    pool: database.pool,
    databaseUrl: database.url,
    processId: newId(8),
    roles: [],
    logger: silentLogger,
  });
  await bus.start();
});
afterAll(async () => {
  await bus.stop();
  await database.drop();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-builds-'));
  anna = (await createUser(database.pool, { name: newId(), email: null })).id;
  builder = new FakeBuilder();
  runner = newRunner(builder);
});
afterEach(async () => {
  await runner.stop();
  await database.pool.query('delete from builds');
  await rm(folder, { recursive: true, force: true });
});

/** Builds as it is told to; by default at once. */
class FakeBuilder implements Builder {
  readonly name = 'processes';
  readonly requests: BuildRequest[] = [];
  tidied = 0;
  why: string | null = null;
  make = async (request: BuildRequest, _options: BuildOptions): Promise<BuiltImage> => imageOf(request);

  async build(request: BuildRequest, options: BuildOptions): Promise<BuiltImage> {
    this.requests.push(request);
    return this.make(request, options);
  }
  list = async () => [];
  remove = async () => {};
  trimCache = async () => 0;
  tidy = async () => {
    this.tidied += 1;
  };
  hindrance = async () => this.why;
}

const imageOf = ({ image }: BuildRequest): BuiltImage => ({ image, digest: `sha256:${digestOf(image)}`, sizeBytes: 7 });
const untilAborted = async (signal: AbortSignal): Promise<never> => {
  signal.throwIfAborted();
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
  );
};

function newRunner(own: Builder, atOnce = 1): BuildRunner {
  const prepare = async (...asked: [string, object?]) => {
    prepared.push(asked);
    return null;
  };
  const runtime = { admitImage, prepare };
  const deps = { pool: database.pool, bus, logger: silentLogger, secretBox, runtime };
  return new BuildRunner({ ...deps, builder: own, limits: LIMITS, atOnce, folder: join(folder, 'contexts') });
}

const MAIN = 'FROM scratch\n';
const DOCKERFILE: Recipe = { ...RECIPE, language: 'dockerfile', dockerfile: 'main.py', entry: null };
async function queue(more: Partial<NewBuild> = {}, userId = anna): Promise<BuildId> {
  const contents = [MAIN, ...(more.entries ?? []).map(({ path }) => path)];
  for (const content of contents) await store(content, userId);
  const input = {
    name: 'app',
    recipe: DOCKERFILE,
    args: {},
    secrets: {},
    registries: {},
    usesCache: true,
    entries: [fileEntry('main.py', MAIN)],
  };
  const context = { pool: database.pool, bus, builds: { hindrance: null } };
  return (await change(context, systemActor(userId), createBuild, { ...input, ...more })).id;
}
const store = (content: string, userId: UserId) =>
  storeFile(
    database.pool,
    userId,
    { digest: digestOf(content), size: Buffer.byteLength(content) },
    Readable.from([Buffer.from(content)]),
  );
const read = (id: BuildId, userId = anna): Promise<Build> => getBuild(database.pool, userId, id);
async function linesOf(id: BuildId): Promise<string[]> {
  const { rows } = await database.pool.query('select text from build_lines where build_id = $1 order by number', [id]);
  return rows.map(({ text }) => text);
}
async function run(): Promise<void> {
  await runner.runOnce();
  await runner.whenIdle();
}

test('the builder gets the folder as it was sent, with links, modes and the worker kit, and it is gone afterwards', async () => {
  const entries: FolderEntry[] = [
    fileEntry('main.py', MAIN),
    { ...fileEntry('bin/run', 'bin/run'), mode: 0o4777 },
    { ...fileEntry('deep/er/data', 'deep/er/data'), mode: 0o600 },
    { path: 'deep/link', link: '../main.py' },
  ];
  const seen: Record<string, string> = {};
  let own = '';
  builder.make = async (request) => {
    own = request.folder;
    for (const { path } of entries) {
      const { mode } = await lstat(join(own, path));
      seen[path] =
        `${(mode & 0o7777).toString(8)} ${path === 'deep/link' ? await readlink(join(own, path)) : await readFile(join(own, path), 'utf8')}`;
    }
    expect(existsSync(join(own, '.podyard/python/run_handler.py'))).toBe(true);
    return imageOf(request);
  };
  const id = await queue({ entries, recipe: RECIPE });
  await run();
  expect(seen).toEqual({
    'main.py': `644 ${MAIN}`,
    'bin/run': '755 bin/run',
    'deep/er/data': '644 deep/er/data',
    'deep/link': '777 ../main.py',
  });
  expect(await read(id)).toMatchObject({
    ...{ status: 'COMPLETED', image: `builds.podyard.internal/app:${id}`, sizeBytes: 7, reason: null },
    ...{ startedAt: expect.any(Date), endedAt: expect.any(Date) },
  });
  expect(existsSync(own)).toBe(false);
});

test('steps and lines are stored as they come, without the secrets in them', async () => {
  const context = { pool: database.pool, bus, secretBox };
  const value = 'line one of it\nline two of it';
  await change(context, systemActor(anna), createSecret, { name: 'TOKEN', value, description: null });
  builder.make = async ({ secrets }, { onEvent }) => {
    expect(secrets).toEqual({ token: value });
    const at = new Date();
    onEvent({ kind: 'step', step: '1', name: 'install', state: 'RUNNING', at });
    onEvent({ kind: 'line', step: '1', stream: 'stdout', text: 'got line two of it, twice: line two of it', at });
    onEvent({ kind: 'line', step: '1', stream: 'stderr', text: 'odd \0 and \ud800', at });
    onEvent({ kind: 'step', step: '1', name: 'install', state: 'FAILED', at });
    throw new Failure('unprocessable', 'install failed: line one of it');
  };
  const id = await queue({ secrets: { token: 'TOKEN' } });
  await run();
  expect(await linesOf(id)).toEqual(['got ***, twice: ***', 'odd  and \ufffd', 'install failed: ***']);
  expect(await read(id)).toMatchObject({
    ...{ status: 'FAILED', reason: 'install failed: ***', failedStep: 'install', image: null },
    steps: [{ name: 'install', status: 'FAILED', startedAt: expect.any(Date), endedAt: expect.any(Date) }],
  });
});

test('the credentials of registries reach the builder, and their passwords no log', async () => {
  const context = { pool: database.pool, bus, secretBox };
  const auth = { username: 'puller', password: 'pass-w0rd-4711' };
  const { id: registryId } = await change(context, systemActor(anna), createRegistry, { name: 'ours', ...auth });
  builder.make = async ({ registries }) => {
    throw new Failure('unprocessable', `refused: ${JSON.stringify(registries)}`);
  };
  const id = await queue({ registries: { 'registry.example.com': registryId } });
  await run();
  expect(builder.requests[0]!.registries).toEqual({ 'registry.example.com': auth });
  expect((await read(id)).reason).toBe('refused: {"registry.example.com":{"username":"puller","password":"***"}}');

  const later = await change(
    { ...context, builds: { hindrance: null } },
    ...([systemActor(anna), retryBuild, { id }] as const),
  );
  await database.pool.query('delete from registries where id = $1', [registryId]);
  await run();
  expect((await read(later.id)).reason).toBe(
    `the registry '${registryId}' was deleted: its credentials are needed to pull the image`,
  );
});

test('a base is an open image, one that the credentials of the build may pull, or an own build', async () => {
  const context = { pool: database.pool, bus, secretBox };
  const auth = { username: 'puller', password: 'pass-w0rd-4711' };
  const { id: registryId } = await change(context, systemActor(anna), createRegistry, { name: 'ours', ...auth });
  const own = buildImageOf('app', await queue());
  await run();
  const bob = (await createUser(database.pool, { name: newId(), email: null })).id;
  builder.make = async (request) => {
    for (const image of ['registry.example.com/base:1', 'alpine', own]) await request.admitBase(image);
    for (const image of ['registry.example.com/base:1', 'alpine']) await request.prepareBase(image, () => {});
    return imageOf(request);
  };
  admitted.length = 0;
  prepared.length = 0;
  const registries = { 'registry.example.com': registryId };
  const derived = await queue({ registries });
  await run();
  expect((await read(derived)).status).toBe('COMPLETED');
  expect(admitted).toEqual([
    ['registry.example.com/base:1', auth],
    ['alpine', undefined],
    [own, undefined],
  ]);
  expect(prepared).toEqual([
    ['registry.example.com/base:1', expect.objectContaining({ auth })],
    ['alpine', expect.not.objectContaining({ auth })],
  ]);
  const foreign = await queue({}, bob);
  await run();
  expect((await read(foreign, bob)).reason).toBe(`image: there is no build with the image '${own}'`);
});

test('of a build that prints a gigabyte the beginning and the last lines are stored, and a line says how many are missing', async () => {
  const text = 'x'.repeat(1_000);
  builder.make = async (request, { onEvent }) => {
    for (let i = 0; i < 100_000; i++) {
      onEvent({ kind: 'line', step: null, stream: 'stdout', text, at: new Date() });
    }
    onEvent({ kind: 'line', step: null, stream: 'stderr', text: 'the last one', at: new Date() });
    return imageOf(request);
  };
  const id = await queue();
  await run();
  const lines = await linesOf(id);
  expect(lines.at(-1)).toBe('the last one');
  expect(lines.filter((line) => line.includes('are left out'))).toEqual([
    '… 95707 lines are left out: a log may have 4 MiB …',
  ]);
  expect(lines.join('').length).toBeLessThan(5 * 2 ** 20);
});

test('a reader gets lines while the build runs, and the end', async () => {
  const go = Promise.withResolvers<void>();
  builder.make = async (request, { onEvent }) => {
    onEvent({ kind: 'line', step: null, stream: 'stdout', text: 'one', at: new Date() });
    await go.promise;
    onEvent({ kind: 'line', step: null, stream: 'stdout', text: 'two', at: new Date() });
    return imageOf(request);
  };
  const id = await queue();
  await runner.runOnce();
  const seen: unknown[] = [];
  const options = { id, after: 0, quietMs: 60_000, signal: new AbortController().signal };
  for await (const { lines, ended } of followBuildLog({ db: database.pool, bus }, options)) {
    seen.push(...lines.map(({ text }) => text), ...(ended ? [ended] : []));
    if (lines.some((line) => line.text === 'one')) go.resolve();
  }
  expect(seen).toEqual(['one', 'two', { status: 'COMPLETED', image: expect.stringMatching(`:${id}$`) }]);
});

test('what a build prints wakes its readers, but no control loop: that is for its begin and its end', async () => {
  const id = await queue();
  const hints: string[] = [];
  const unsubscribes = (['build', 'buildOutput'] as const).map((topic) =>
    bus.subscribe(topic, (changed) => changed === id && hints.push(topic)),
  );
  builder.make = async (request, { onEvent }) => {
    onEvent({ kind: 'line', step: null, stream: 'stdout', text: 'a', at: new Date() });
    return imageOf(request);
  };
  await run();
  for (const unsubscribe of unsubscribes) unsubscribe();
  expect(hints).toEqual(['build', 'buildOutput', 'build']);
});

test('a push that begins after everything else was stored is shown while it lasts', async () => {
  const at = new Date();
  const pushed = Promise.withResolvers<void>();
  builder.make = async (request, { onEvent }) => {
    onEvent({ kind: 'step', step: 'a', name: 'RUN a', state: 'COMPLETED', at });
    await expect.poll(async () => (await read(id)).steps.length).toBe(1);
    onEvent({ kind: 'pushing' });
    onEvent({ kind: 'step', step: 'b', name: 'Push', state: 'RUNNING', at });
    await pushed.promise;
    return imageOf(request);
  };
  const id = await queue();
  const ran = run();
  try {
    await expect.poll(() => read(id)).toMatchObject({ status: 'PUSHING', steps: [{}, { status: 'RUNNING' }] });
  } finally {
    pushed.resolve();
    await ran;
  }
  expect((await read(id)).status).toBe('COMPLETED');
});

test('a running build that is cancelled ends as CANCELLED, and the next one begins', async () => {
  const begun = Promise.withResolvers<void>();
  builder.make = async (request, { signal }) => {
    if (builder.requests.length > 1) return imageOf(request);
    begun.resolve();
    return untilAborted(signal);
  };
  const [first, second] = [await queue(), await queue()];
  await runner.runOnce();
  await runner.runOnce();
  expect(await read(second)).toMatchObject({ status: 'QUEUED', reason: 'waits for an earlier build of this name' });
  await begun.promise;
  await change({ pool: database.pool, bus }, systemActor(anna), cancelBuild, { id: first });
  await run();
  await run();
  expect(await read(first)).toMatchObject({ status: 'CANCELLED', reason: 'it was cancelled' });
  expect((await read(second)).status).toBe('COMPLETED');
});

test('a server that stops puts its builds back, and whoever leads next builds them', async () => {
  builder.make = (_, { signal }) => untilAborted(signal);
  const id = await queue();
  await runner.runOnce();
  await runner.stop();
  expect(await read(id)).toMatchObject({ status: 'QUEUED', startedAt: null });
  runner = newRunner(new FakeBuilder());
  await run();
  expect((await read(id)).status).toBe('COMPLETED');
  expect(await linesOf(id)).toEqual(['the server was stopped: the build begins again']);
});

test('a build that a killed server has left is built once more, and then ends as FAILED', async () => {
  const id = await queue();
  const kill = () =>
    database.pool.query("update builds set status = 'BUILDING', started_at = now() where id = $1", [id]);
  await kill();
  builder.make = async () => {
    throw new Error('not yet');
  };
  await runner.runOnce();
  expect([builder.tidied, await read(id)]).toMatchObject([1, { status: 'QUEUED' }]);
  await kill();
  runner = newRunner(builder);
  await runner.runOnce();
  expect(await read(id)).toMatchObject({
    status: 'FAILED',
    reason: 'the server ended twice while it was built: build it again, or give builds less memory',
  });
  expect(builder.requests).toEqual([]);
});

test('what a killed server has left in the folder of contexts is removed', async () => {
  await runner.runOnce();
  const contexts = join(folder, 'contexts');
  await rm(contexts, { recursive: true });
  await mkdir(join(contexts, 'old'), { recursive: true });
  await writeFile(join(contexts, 'old/file'), 'x');
  runner = newRunner(builder);
  await runner.runOnce();
  expect(await readdir(contexts)).toEqual([]);
});

test('a build fails with a sentence if a file or a secret is gone, if nothing can be built, and if the builder breaks', async () => {
  const reasonOf = async (id: BuildId) => {
    await run();
    return [(await read(id)).status, (await read(id)).reason];
  };
  const first = await queue();
  await database.pool.query('delete from build_files where user_id = $1', [anna]);
  expect(await reasonOf(first)).toEqual(['FAILED', "The file 'main.py' is not kept any more: deploy again."]);
  const context = { pool: database.pool, bus, secretBox };
  await change(context, systemActor(anna), createSecret, { name: 'TOKEN', value: 'v', description: null });
  const second = await queue({ secrets: { token: 'TOKEN' } });
  await database.pool.query('delete from secrets where user_id = $1', [anna]);
  expect(await reasonOf(second)).toEqual(['FAILED', "There is no secret 'TOKEN' any more."]);
  builder.why = 'The engine is away.';
  expect(await reasonOf(await queue())).toEqual(['FAILED', 'The engine is away.']);
  builder.why = null;
  builder.make = async () => {
    throw new Error('internal: /secret/path');
  };
  expect(await reasonOf(await queue())).toEqual(['FAILED', 'It failed unexpectedly: the server’s log says why.']);
});

test('nothing is queued where the server builds nothing', async () => {
  const id = await queue();
  await run();
  const context = { pool: database.pool, bus, builds: { hindrance: 'Nothing is built here.' } };
  await expect(change(context, systemActor(anna), retryBuild, { id })).rejects.toMatchObject({
    kind: 'forbidden',
    message: 'Nothing is built here.',
  });
});
