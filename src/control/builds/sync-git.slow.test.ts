import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOf } from '../../../test/build-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { findProcesses } from '../../../test/find-processes.ts';
import { GitServer } from '../../../test/git-server.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import { parseWebhookNetworks } from '../../config/webhook-settings.ts';
import { type BuildId, type EndpointId, newId, type UserId } from '../../core/ids.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { filesOf, findMissingFiles } from '../../domain/builds/build-files.ts';
import { buildImageOf } from '../../domain/builds/build-image.ts';
import { getBuild, listBuilds, readFolder } from '../../domain/builds/build-store.ts';
import { retryBuild } from '../../domain/builds/change-build.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import {
  connectGit,
  disconnectGit,
  type GitSourceSettings,
  syncGit,
} from '../../domain/git-sources/change-git-source.ts';
import { newDeployKey } from '../../domain/git-sources/deploy-key.ts';
import { getGitSource } from '../../domain/git-sources/git-source-store.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { readProjectFields } from '../../rest/endpoints/wire-2026-07.ts';
import { deployGitBuildsLoop } from './deploy-git-builds.ts';
import { GIT_MARKER } from './git-repository.ts';
import { GitSync } from './sync-git.ts';

/** A real repository behind git's own HTTP server; builds are ended as their runner would end them. */
const TOKEN = 'ghp_0123456789abcdef';
const HANDLER = 'def handler(job):\n    return 1\n';
const secretBox = createSecretBox(randomBytes(32));
const loopback = new WebhookPolicy({ allowPrivate: false, allowed: parseWebhookNetworks('127.0.0.1') });

let database: TestDatabase;
let bus: Bus;
let log = '';
const logger = pino({ level: 'debug' }, { write: (line: string) => (log += line) });
let folder: string;
let anna: UserId;
let endpoint: EndpointId;
let git: GitServer;
let sync: GitSync;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), roles: [], logger });
  await bus.start();
});
afterAll(async () => {
  await bus.stop();
  await database.drop();
});
beforeEach(async () => {
  log = '';
  folder = await mkdtemp(join(tmpdir(), 'podyard-sync-'));
  anna = (await createUser(database.pool, { name: newId(), email: null })).id;
  endpoint = (await change(context(), systemActor(anna), createEndpoint, NEW_ENDPOINT)).id;
  git = await GitServer.start();
  sync = newSync();
});
afterEach(async () => {
  await sync.stop();
  expect(await readdir(join(folder, 'git')).catch(() => [])).toEqual([]);
  await git.stop();
  await rm(folder, { recursive: true, force: true });
  await database.pool.query('delete from git_sources');
  await database.pool.query('delete from builds');
});

const NEW_ENDPOINT = newEndpoint({ name: 'App', image: 'a/b:1', workers: { min: 0, max: 0 } });
const context = () => ({
  ...{ pool: database.pool, bus, secretBox, webhooks: loopback, builds: { hindrance: null }, logger },
});
const newSync = (more: object = {}) =>
  new GitSync({
    ...{ pool: database.pool, bus, logger, secretBox, webhooks: loopback, folder: join(folder, 'git') },
    ...{ path: process.env.PATH!, maxBytes: 2 ** 31, timeoutMs: 60_000, readFields: readProjectFields },
    ...more,
  });

const connect = async (more: Partial<GitSourceSettings> = {}) => {
  const settings: GitSourceSettings = {
    ...{
      url: git.url,
      branch: 'main',
      tags: null,
      folder: '',
      build: {},
      applySettings: false,
      auth: { type: 'NONE' },
      pollSeconds: null,
    },
    ...more,
  };
  return (
    await change(context(), systemActor(anna), connectGit, { id: endpoint, settings, rotateWebhookSecret: false })
  ).source;
};
/** Looks at what is due, and returns the source. */
async function look(own = sync) {
  await own.runOnce();
  await own.whenIdle();
  return getGitSource(database.pool, endpoint);
}
const lookAgain = async () => {
  await change(context(), systemActor(anna), syncGit, { id: endpoint });
  return look();
};
const builds = async () => (await listBuilds(database.pool, anna, { limit: 100 })).builds.toReversed();
async function complete(id: BuildId): Promise<string> {
  const image = buildImageOf('app', id);
  await database.pool.query(
    "update builds set status = 'COMPLETED', image = $2, digest = $3, started_at = now(), ended_at = now() where id = $1",
    [id, image, `sha256:${digestOf(id)}`],
  );
  return image;
}
/** Transactions that the database has committed. */
async function countQueries(): Promise<number> {
  await database.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await database.pool.query(
    'select xact_commit::int8 as count from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0].count);
}
const deploy = () => deployGitBuildsLoop({ pool: database.pool, bus, logger }).runOnce();
const imageOf = async () => (await getEndpointRow(database.pool, anna, endpoint)).image;
const everything = async () => {
  const { rows } = await database.pool.query(
    `select json_agg(to_jsonb(s) - 'webhook_secret' - 'private_key')::text as text from git_sources s
     union all select json_agg(b)::text from builds b`,
  );
  return rows.map(({ text }) => text).join();
};

test('a push is built and deployed, and the release names commit, message and author', async () => {
  const first = await git.push({ 'handler.py': HANDLER, 'run.sh': 'true' }, { message: 'Say hello\n\nAt length.' });
  await connect();
  const source = await look();
  expect(source).toMatchObject({ isLooking: false, lastCommit: first, lastRef: 'refs/heads/main', lastError: null });
  const [build] = await builds();
  const origin = { url: git.url, commit: first, ref: 'refs/heads/main', author: 'Anna', message: 'Say hello' };
  expect(build).toMatchObject({ id: source.lastBuildId, name: 'app', status: 'QUEUED', source: 'GIT', git: origin });
  expect((await readFolder(database.pool, build!.id)).map(({ path }) => path)).toEqual(['handler.py', 'run.sh']);
  const tried = { endpointId: endpoint, triedName: 'another', limit: 10 }; // before its endpoint has taken the image
  expect((await listBuilds(database.pool, anna, tried)).builds.map(({ id }) => id)).toEqual([build!.id]);
  const image = await complete(build!.id);
  await deploy();
  expect(await imageOf()).toBe(image);
  const { releases } = await listReleases(database.pool, anna, endpoint);
  expect(releases[0]).toMatchObject({
    buildId: build!.id,
    diff: [
      { field: 'commit', old: null, new: `${first.slice(0, 7)} Say hello (Anna)` },
      { field: 'image', old: 'a/b:1', new: image },
    ],
  });
  const second = await git.push({ 'handler.py': `${HANDLER}#\n` }, { message: 'Say more' });
  await lookAgain();
  await complete((await builds())[1]!.id);
  await deploy();
  const [newest] = (await listReleases(database.pool, anna, endpoint)).releases;
  const texts = { old: `${first.slice(0, 7)} Say hello (Anna)`, new: `${second.slice(0, 7)} Say more (Anna)` };
  expect(newest!.diff[0]).toEqual({ field: 'commit', ...texts });
});

test('a folder of the repository is built as `podyard deploy` builds it, and a commit that changes nothing in it makes no build', async () => {
  await git.push({
    'README.md': 'x',
    'app/handler.py': HANDLER,
    'app/.env': 'KEY=1',
    'app/.dockerignore': 'notes.txt',
    'app/notes.txt': 'x',
  });
  await connect({ folder: 'app' });
  await look();
  const [build] = await builds();
  expect((await readFolder(database.pool, build!.id)).map(({ path }) => path)).toEqual(['.dockerignore', 'handler.py']);
  const other = await git.push({ 'README.md': 'y' });
  expect(await lookAgain()).toMatchObject({ lastCommit: other, lastError: null, lastBuildId: build!.id });
  expect(await builds()).toHaveLength(1);
});

test('the highest version of the tags that match is built, and a candidate is lower than its release', async () => {
  await git.push({ 'handler.py': HANDLER }, { ref: 'refs/tags/v1.10.0' });
  await git.push({ 'handler.py': `${HANDLER}#2` }, { ref: 'refs/tags/v1.9.0' });
  await git.push({ 'handler.py': `${HANDLER}#3` }, { ref: 'refs/tags/v1.10.0-rc1' });
  await git.push({ 'handler.py': `${HANDLER}#4` }, { ref: 'refs/tags/w2' });
  await connect({ branch: null, tags: 'v*' });
  expect((await look()).lastRef).toBe('refs/tags/v1.10.0');
  await git.push({ 'handler.py': `${HANDLER}#5` });
  await git.git('tag', '-a', '-m', 'annotated', 'v2.0.0');
  await git.git('push', '--quiet', '../app.git', 'v2.0.0');
  expect(await lookAgain()).toMatchObject({
    lastRef: 'refs/tags/v2.0.0',
    lastCommit: (await git.git('rev-parse', 'HEAD')).trim(),
  });
});

test('a build of an older commit does not overtake a newer one, and none deploys once the repository is disconnected', async () => {
  await git.push({ 'handler.py': HANDLER });
  await connect();
  await look();
  await git.push({ 'handler.py': `${HANDLER}#2` });
  await lookAgain();
  const [older, newer] = await builds();
  const image = await complete(newer!.id);
  await deploy();
  await complete(older!.id);
  await deploy();
  expect(await imageOf()).toBe(image);
  const again = await change(context(), systemActor(anna), retryBuild, { id: older!.id });
  expect(again).toMatchObject({ source: 'GIT', git: older!.git });
  await complete(again.id);
  await deploy();
  expect(await imageOf()).toBe(image);
  await git.push({ 'handler.py': `${HANDLER}#3` });
  await lookAgain();
  await change(context(), systemActor(anna), disconnectGit, { id: endpoint });
  await complete((await builds()).at(-1)!.id);
  await deploy();
  expect(await imageOf()).toBe(image);
});

test('what cannot be read or built is told, and the next look goes on from there', async () => {
  await git.push({ 'README.md': 'nothing to serve' });
  await connect({ branch: 'gone' });
  expect((await look()).lastError).toBe(`The repository ${git.url} has no branch 'gone' (any more).`);
  await connect({ folder: 'absent' });
  expect((await look()).lastError).toMatch(/^The commit [0-9a-f]{7} has no folder 'absent'\.$/);
  await connect({ folder: 'README.md' });
  expect((await look()).lastError).toMatch(/has no folder 'README.md'\.$/);
  await connect();
  expect((await look()).lastError).toMatch(/^No handler was found: /);
  expect((await lookAgain()).lastError).toMatch(/^No handler was found: /);
  await connect({ url: git.url.replace('app.git', 'other.git') });
  expect((await look()).lastError).toBe(
    `There is no repository ${git.url.replace('app', 'other')}, or what is given may not read it.`,
  );
  await connect({ branch: null, tags: 'v*' });
  expect((await look()).lastError).toBe(`The repository ${git.url} has no tag that matches 'v*'.`);
  git.intercept = (_, res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  expect((await lookAgain()).lastError).toBe(
    `${git.url} leads to another place: give the URL of the repository itself.`,
  );
  git.intercept = null;
  await git.push({ 'handler.py': HANDLER });
  await connect();
  expect((await look()).lastError).toBeNull();
  expect(await builds()).toHaveLength(1);
});

test('an error of a commit stays until another commit, or until somebody asks; polls do not fetch it again', async () => {
  await git.push({ 'README.md': 'nothing to serve' });
  await connect({ pollSeconds: 60 });
  const { lastError } = await look();
  const poll = () => database.pool.query('update git_sources set next_look_at = now()');
  const before = git.requests.length;
  await poll();
  expect((await look()).lastError).toBe(lastError);
  expect(git.requests.slice(before).every((one) => !one.includes('pack objects')) && git.requests.length - before).toBe(
    2,
  ); // refs alone
  await git.push({ 'handler.py': HANDLER });
  await poll();
  expect((await look()).lastError).toBeNull();
});

test('links outward, submodules and files that are too many or too large never get into a build', async () => {
  await git.push({ 'handler.py': HANDLER });
  const work = (await git.git('rev-parse', '--show-toplevel')).trim();
  await symlink('/etc/passwd', join(work, 'passwd'));
  await git.push({});
  await connect();
  expect((await look()).lastError).toBe(
    "The folder cannot be built. 'passwd' is a link to '/etc/passwd', outside of the folder.",
  );
  await git.git('rm', '--quiet', 'passwd');
  await git.git('update-index', '--add', '--cacheinfo', `160000,${'a'.repeat(40)},module`);
  await git.git('commit', '--quiet', '-m', 'module');
  await git.git('push', '--quiet', '../app.git', 'HEAD:refs/heads/main');
  expect((await lookAgain()).lastError).toBe(
    "The folder cannot be built: 'module' is a submodule, which is not fetched: leave it out with .dockerignore, or commit its files.",
  );
  expect(await builds()).toEqual([]);
  await writeFile(join(work, '.dockerignore'), 'module\n');
  await git.git('add', '.dockerignore');
  await git.git('commit', '--quiet', '-m', 'leave it out');
  await git.git('push', '--quiet', '../app.git', 'HEAD:refs/heads/main');
  expect((await lookAgain()).lastError).toBeNull();
  const [build] = await builds();
  expect((await readFolder(database.pool, build!.id)).map(({ path }) => path)).toEqual(['.dockerignore', 'handler.py']);
});

test('a file in Git LFS is refused by its name, unless it is left out: only its pointer is in the repository', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d'.repeat(32)}\nsize 12345\n`;
  await git.push({ 'handler.py': HANDLER, 'weights/model.bin': pointer });
  await connect();
  expect((await look()).lastError).toBe(
    "The folder cannot be built: 'weights/model.bin' is in Git LFS, which is not fetched: leave it out with .dockerignore, or keep it in a volume or as a model.",
  );
  await git.push({ '.dockerignore': 'weights\n' });
  expect((await lookAgain()).lastError).toBeNull();
});

test('many small files are stored in a few requests, and each is there', async () => {
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`data/${i}.txt`, `${i}`]));
  await git.push({ 'handler.py': HANDLER, large: randomBytes(2 ** 20), ...files });
  await connect();
  const before = await countQueries();
  expect((await look()).lastError).toBeNull();
  expect((await countQueries()) - before).toBeLessThan(150);
  const [build] = await builds();
  const entries = await readFolder(database.pool, build!.id);
  expect(entries).toHaveLength(302);
  expect(await findMissingFiles(database.pool, anna, filesOf(entries))).toEqual([]);
});

test('a git that does not keep to the address that was allowed is refused', async () => {
  await connect();
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'git'), '#!/bin/sh\necho git version 2.34.1\n', { mode: 0o755 });
  expect((await look(newSync({ path: `${bin}:${process.env.PATH}` }))).lastError).toBe(
    'The server’s git has version 2.34.1, and Podyard needs 2.37 or newer: install another, then sync again.',
  );
});

test('the token is sent to the host and is nowhere else: in no log, record, argument or error, also when it is refused', async () => {
  await git.push({ 'handler.py': HANDLER });
  await change(context(), systemActor(anna), createSecret, { name: 'git', value: TOKEN, description: null });
  git.authorization = `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
  await connect();
  expect((await look()).lastError).toBe(
    `127.0.0.1 asks for credentials, or there is no repository ${git.url}: a private one needs a token.`,
  );
  await connect({ auth: { type: 'TOKEN', secret: 'git' } });
  let inArguments: unknown[] = ['never looked'];
  git.intercept = (req, res) => {
    inArguments = findProcesses(TOKEN, 'cmdline');
    git.intercept = null;
    res.writeHead(503).end(`${req.headers.authorization} ${TOKEN}`);
  };
  expect((await look()).lastError).toContain('cannot be reached');
  expect(inArguments).toEqual([]);
  expect((await lookAgain()).lastError).toBeNull();
  git.authorization = 'Basic other';
  expect((await lookAgain()).lastError).toBe(
    `127.0.0.1 refused the token in the secret 'git': give it one that may read ${git.url}.`,
  );
  const secrets = [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64')];
  for (const secret of secrets) expect(log + (await everything())).not.toContain(secret);
});

test('a repository that is larger than allowed is cut off, one that is silent is given up, and both leave nothing', async () => {
  await git.push({ 'handler.py': HANDLER, large: randomBytes(2 ** 21) });
  await connect();
  const small = newSync({ maxBytes: 2 ** 20 });
  expect((await look(small)).lastError).toBe(`The repository at ${git.url} has more than 1 MiB: name a smaller one.`);
  const silent = newSync({ timeoutMs: 1_000 });
  git.intercept = () => {};
  await change(context(), systemActor(anna), syncGit, { id: endpoint });
  expect(await look(silent)).toMatchObject({
    lastError: `Reading ${git.url} took more than 1 seconds.`,
    isLooking: true,
  });
  expect(findProcesses(join(folder, 'git'), 'environ')).toEqual([]);
  expect(await builds()).toEqual([]);
});

test('a server that stops while it looks ends git, and one that was killed leaves it to the next, which looks again', async () => {
  const commit = await git.push({ 'handler.py': HANDLER });
  await connect();
  const asked = Promise.withResolvers<void>();
  git.intercept = () => asked.resolve();
  await sync.runOnce();
  await asked.promise;
  expect(findProcesses(join(folder, 'git'), 'environ')).not.toEqual([]);
  await sync.stop();
  expect(findProcesses(join(folder, 'git'), 'environ')).toEqual([]);
  expect(await getGitSource(database.pool, endpoint)).toMatchObject({ isLooking: true, lastError: null });
  const left = spawn('sleep', ['1000'], { env: { PATH: process.env.PATH, [GIT_MARKER]: join(folder, 'git') } });
  const ended = once(left, 'exit');
  await mkdir(join(folder, 'git', 'left', 'repository'), { recursive: true });
  git.intercept = null;
  expect((await look(newSync())).lastCommit).toBe(commit);
  await ended;
  expect(await builds()).toHaveLength(1);
});

test('addresses that no user may reach are not reached, whatever name stands for them', async () => {
  await git.push({ 'handler.py': HANDLER });
  await connect();
  const strict = newSync({ webhooks: new WebhookPolicy({ allowPrivate: false, allowed: [] }) });
  const before = git.requests.length;
  expect((await look(strict)).lastError).toBe(
    `${git.url} is not read: 127.0.0.1 is an address of the server's own machine, which builds do not reach: an operator can allow it with --webhook-networks (PODYARD_WEBHOOK_NETWORKS).`,
  );
  expect(git.requests.length).toBe(before);
});

test('without git on the server, the error says to install it', async () => {
  await connect();
  const bare = join(folder, 'bin');
  await mkdir(bare);
  await writeFile(join(bare, 'nice'), '#!/bin/sh\nshift 2\nexec "$@"\n');
  await chmod(join(bare, 'nice'), 0o755);
  expect((await look(newSync({ path: bare }))).lastError).toBe(
    'The server has no git: install it there (on Debian: apt-get install git), then sync again. Podyard’s own image cannot: run the server from a package.',
  );
});

test('a deploy key is one that OpenSSH reads, with the public half that is shown', async () => {
  const { publicKey, privateKey } = newDeployKey('podyard-test');
  const file = join(folder, 'key');
  await writeFile(file, privateKey, { mode: 0o600 });
  const { stdout } = await promisify(execFile)('ssh-keygen', ['-y', '-P', '', '-f', file]);
  expect(stdout.trim()).toBe(publicKey);
  expect(existsSync(`${file}.pub`)).toBe(false);
});

test('ssh gets the deploy key in a file, and options that OpenSSH takes: no prompt, one address, the host key that was seen first', async () => {
  const commit = await git.push({ 'handler.py': HANDLER });
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const { stdout: real } = await promisify(execFile)('sh', ['-c', 'command -v ssh']);
  // In place of a server: checks the options with the real ssh, and runs what that would start there.
  const ssh = `#!/bin/sh
exec 3>${folder}/options
${real.trim()} -G "$@" >&3 || exit 9
stat -c %a "$HOME/key" >&3
echo '127.0.0.1 ssh-ed25519 AAAA' >"$HOME/known_hosts"
exec git upload-pack ${git.bare}
`;
  await writeFile(join(bin, 'ssh'), ssh, { mode: 0o755 });
  await connect({ url: 'git@127.0.0.1:me/app.git', auth: { type: 'DEPLOY_KEY' } });
  const own = newSync({ path: `${bin}:${process.env.PATH}` });
  expect(await look(own)).toMatchObject({ lastError: null, lastCommit: commit, url: 'ssh://git@127.0.0.1/me/app.git' });
  const options = (await readFile(join(folder, 'options'), 'utf8')).split('\n');
  expect(options).toEqual(
    expect.arrayContaining([
      ...['user git', 'hostname 127.0.0.1', 'hostkeyalias 127.0.0.1', 'port 22', 'batchmode yes', 'identitiesonly yes'],
      ...['stricthostkeychecking accept-new', 'globalknownhostsfile /dev/null', 'identityagent none', '600'],
    ]),
  );
  const { rows } = await database.pool.query('select known_hosts as text from git_sources where endpoint_id = $1', [
    endpoint,
  ]);
  expect(rows[0].text).toBe('127.0.0.1 ssh-ed25519 AAAA\n');
});

describe('with applySettings, podyard.yaml of a commit sets the endpoint', () => {
  const push = (yaml: string, more: Record<string, string> = {}) =>
    git.push({ 'handler.py': HANDLER, 'podyard.yaml': yaml, ...more });
  const row = () => getEndpointRow(database.pool, anna, endpoint);

  test('with its image, in one release, and also where only the file has changed', async () => {
    await change(context(), systemActor(anna), createSecret, { name: 'token', value: 'x', description: '' });
    await push(`workers: { max: 4 }
env: { LEVEL: info }
secrets: { TOKEN: token }
schedule: { timeZone: UTC, floors: [{ days: [MON], from: "08:00", until: "18:00", workersMin: 1 }] }
models: ['hf:org/name']
build: { handler: handler.py }
`);
    await connect({ applySettings: true });
    expect((await look()).lastError).toBeNull();
    expect(await row()).toMatchObject({ image: 'a/b:1', workers: { max: 0 }, env: {} }); // not before its image
    const image = await complete((await builds())[0]!.id);
    await deploy();
    const env = { LEVEL: 'info', TOKEN: '{{ RUNPOD_SECRET_token }}' };
    expect(await row()).toMatchObject({ image, workers: { min: 0, max: 4 }, env, version: 2 });
    const { rows } = await database.pool.query('select endpoint_id from endpoint_schedules');
    expect(rows).toEqual([{ endpoint_id: endpoint }]);

    await push('workers: { max: 5 }\n');
    await lookAgain();
    await complete((await builds())[1]!.id);
    await deploy();
    expect(await row()).toMatchObject({ workers: { max: 5 }, env });
    await push('workers: { max: 5 } # as before\n');
    await lookAgain();
    expect(await builds()).toHaveLength(2);
  });

  test.each([
    ['name: App\nworkers:\n  maxx: 3\n', "podyard.yaml:3:3: 'maxx' is not a field of workers. Did you mean 'max'?"],
    ['workers: { min: 5, max: 1 }\n', 'workers'],
    ['gpu: { pools: [NOT_THERE] }\n', 'NOT_THERE'],
    ['cpu: [{ id: cpu3c, vcpuCount: 2 }]\n', 'cpu: this is a GPU endpoint, and stays one'],
    ['type: LOAD_BALANCING\n', 'podyard.yaml wants LOAD_BALANCING, and App is QUEUE_BASED, which is fixed.'],
    ['image: nginx\n', 'podyard.yaml names an image, and that of App is built from the repository.'],
    ['volumes: [lost]\n', "podyard.yaml: there is no volume 'lost'."],
    ['secrets: { A: lost }\n', "there is no secret 'lost'"],
    ['endpoints: [{ name: one }, { name: two }]\n', "podyard.yaml has no endpoint 'App'."],
    ['schedule: { timeZone: Mars/Base, floors: [] }\n', "'Mars/Base' is not an IANA time zone"],
  ])('%j is told, builds nothing and changes nothing', async (yaml, problem) => {
    const before = await row();
    await push(yaml);
    await connect({ applySettings: true });
    expect((await look()).lastError).toContain(problem);
    expect(await builds()).toEqual([]);
    expect(await row()).toEqual(before);
    await connect(); // without it the file is not read
    expect((await look()).lastError).toBeNull();
  });

  test('a link in its place is not read', async () => {
    await git.push({ 'handler.py': HANDLER });
    await symlink('/etc/passwd', join(dirname(git.bare), 'work/podyard.yaml'));
    await git.push({});
    await connect({ applySettings: true });
    expect((await look()).lastError).toBe('podyard.yaml is not a file.');
  });

  test('a key that may not read all that a commit could name may not switch it on', async () => {
    const scopes = ['serverless:write', 'builds:write'].map(parseScope);
    const settings = { url: git.url, branch: 'main', tags: null, folder: '', build: {}, pollSeconds: null };
    const connecting = (applySettings: boolean) =>
      change(context(), { ...systemActor(anna), scopes }, connectGit, {
        ...{ id: endpoint, rotateWebhookSecret: false },
        settings: { ...settings, applySettings, auth: { type: 'NONE' } },
      });
    await connecting(false);
    await expect(connecting(true)).rejects.toMatchObject({ kind: 'forbidden' });
  });
});

test('a build of the repository is its user’s alone', async () => {
  await git.push({ 'handler.py': HANDLER });
  await connect();
  const { lastBuildId } = await look();
  const berta = (await createUser(database.pool, { name: newId(), email: null })).id;
  await expect(getBuild(database.pool, berta, lastBuildId!)).rejects.toThrow('Build not found');
});

test('repositories of a suspended user are not looked at until the user is active again', async () => {
  const commit = await git.push({ 'handler.py': HANDLER });
  await connect();
  const suspend = (at: string, how: string) =>
    database.pool.query(`update users set suspended_at = ${at}, suspended_workloads = ${how} where id = $1`, [anna]);
  await suspend('now()', "'KEEP'");
  expect(await look()).toMatchObject({ isLooking: true, lastCommit: null });
  await suspend('null', 'null');
  expect((await look()).lastCommit).toBe(commit);
});
