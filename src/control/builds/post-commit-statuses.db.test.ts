import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { fileEntry, RECIPE } from '../../../test/build-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import { StatusHost } from '../../../test/status-host.ts';
import { parseWebhookNetworks } from '../../config/webhook-settings.ts';
import { type BuildId, type EndpointId, newId, type UserId } from '../../core/ids.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { storeFile } from '../../domain/builds/build-files.ts';
import { retryBuild } from '../../domain/builds/change-build.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { buildCommit } from '../../domain/git-sources/build-commit.ts';
import { connectGit, disconnectGit } from '../../domain/git-sources/change-git-source.ts';
import type { StatusApi } from '../../domain/git-sources/commit-status.ts';
import { getGitSource } from '../../domain/git-sources/git-source-store.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { CommitStatusPoster } from './post-commit-statuses.ts';

const TOKEN = 'ghp_0123456789abcdef';
const COMMIT = 'c'.repeat(40);
const MAIN = 'print(1)\n';
const secretBox = createSecretBox(randomBytes(32));
const loopback = new WebhookPolicy({ allowPrivate: false, allowed: parseWebhookNetworks('127.0.0.1') });

let database: TestDatabase;
let bus: Bus;
let log = '';
const logger = pino({ level: 'debug' }, { write: (line: string) => (log += line) });
let anna: UserId;
let endpoint: EndpointId;
let host: StatusHost;
let poster: CommitStatusPoster;
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
  host = await StatusHost.start();
  poster = newPoster();
  anna = await addUser();
  endpoint = await addEndpoint(anna);
});
afterEach(async () => {
  await poster.stop();
  await host.stop();
  await database.pool.query('delete from builds');
  await database.pool.query('delete from git_sources');
});

const context = () => ({
  ...{ pool: database.pool, bus, secretBox, webhooks: loopback, builds: { hindrance: null }, logger },
});
const newPoster = (more: object = {}) =>
  new CommitStatusPoster({
    ...{ pool: database.pool, bus, logger, secretBox, webhooks: loopback, publicUrl: 'https://podyard.test/' },
    ...more,
  });
async function addUser(): Promise<UserId> {
  const { id } = await createUser(database.pool, { name: newId(), email: null });
  await change(context(), systemActor(id), createSecret, { name: 'git', value: TOKEN, description: null });
  const content = Readable.from([Buffer.from(MAIN)]);
  await storeFile(database.pool, id, fileEntry('main.py', MAIN), content);
  return id;
}
const addEndpoint = async (userId: UserId) =>
  (
    await change(
      context(),
      systemActor(userId),
      createEndpoint,
      newEndpoint({ name: 'App', workers: { min: 0, max: 0 } }),
    )
  ).id;
/** Connects the endpoint, and builds a commit. */
async function build(
  statuses: StatusApi,
  { userId = anna, id = endpoint, commit = COMMIT, path = 'me/app.git' } = {},
): Promise<BuildId> {
  const target = {
    url: `${host.origin}/${path}`,
    branch: 'main',
    tags: null,
    folder: '',
    build: {},
    applySettings: false,
  };
  const settings = { ...target, auth: { type: 'TOKEN', secret: 'git' } as const, pollSeconds: null, statuses };
  const connecting = { id, settings, rotateWebhookSecret: false };
  const { source } = await change(context(), systemActor(userId), connectGit, connecting);
  const git = { url: target.url, commit, ref: 'refs/heads/main', author: 'Anna', message: 'Change' };
  const made = await change(context(), systemActor(userId), buildCommit, {
    ...{ sourceId: source.id, target, git, name: 'app', recipe: RECIPE, args: {}, secrets: {}, registries: {} },
    ...{ usesCache: true, entries: [fileEntry('main.py', MAIN)], settings: null },
  });
  return made!.id;
}
const end = (id: BuildId, status: string) =>
  database.pool.query("update builds set status = $2, reason = 'SECRET OUTPUT', ended_at = now() where id = $1", [
    id,
    status,
  ]);
async function post(own = poster): Promise<void> {
  await own.runOnce();
  await own.whenIdle();
}
const states = () => host.posted.map(({ body }) => body.state);
const isDue = () => database.pool.query("update commit_statuses set next_at = now() - interval '1 s'");
const rows = async () => (await database.pool.query('select posted, failures from commit_statuses')).rows;
const errorOf = async () => (await getGitSource(database.pool, endpoint)).statusError;

test.each([
  ['GITHUB', `/api/v3/repos/me/app/statuses/${COMMIT}`, ['pending', 'success']],
  ['GITLAB', `/api/v4/projects/me%2Fapp/statuses/${COMMIT}`, ['pending', 'success']],
  ['GITEA', `/api/v1/repos/me/app/statuses/${COMMIT}`, ['pending', 'success']],
] as const)('%s is told when a build begins and ends, each once, with a link to its page', async (api, path, words) => {
  const id = await build(api);
  await post();
  await post();
  expect(states()).toEqual(['pending']);
  await end(id, 'COMPLETED');
  await post();
  await post();
  expect(states()).toEqual(words);
  expect(host.posted.map((one) => one.path)).toEqual([path, path]);
  expect(host.posted[1]!.body).toMatchObject({
    context: 'podyard/App',
    target_url: `https://podyard.test/#/builds/${id}`,
  });
  expect([host.faults, await rows(), await errorOf()]).toEqual([[], [], null]);
  expect(log).not.toContain(TOKEN);
});

test('a build that failed or was cancelled says so, and nothing of its output', async () => {
  await end(await build('GITHUB'), 'FAILED');
  await post();
  await end(await build('GITHUB', { commit: 'd'.repeat(40) }), 'CANCELLED');
  await post();
  expect(states()).toEqual(['failure', 'error']);
  expect(JSON.stringify(host.posted)).not.toContain('SECRET OUTPUT');
});

test('a build that is repeated is told again, and its former attempt no more', async () => {
  const first = await build('GITEA');
  await end(first, 'FAILED');
  const again = await change(context(), systemActor(anna), retryBuild, { id: first });
  await post();
  await end(again.id, 'COMPLETED');
  await post();
  expect(states()).toEqual(['pending', 'success']);
  expect(host.posted[1]!.body.target_url).toContain(again.id);
});

test('a host that is away is asked again later, and is told how the build ended', async () => {
  const id = await build('GITHUB');
  host.intercept = (res) => res.writeHead(503).end('busy');
  await post();
  expect(await rows()).toEqual([{ posted: null, failures: 1 }]);
  expect(await errorOf()).toBe('The status PENDING was not posted: 127.0.0.1 answered 503, busy. It is tried again.');
  await post();
  expect(host.posted).toHaveLength(1); // not before its time
  await end(id, 'COMPLETED');
  host.intercept = null;
  await isDue();
  await post();
  expect([states(), await rows(), await errorOf()]).toEqual([['pending', 'success'], [], null]);
});

test('a host that stays away is given up, and the source says so', async () => {
  await end(await build('GITHUB'), 'COMPLETED');
  host.intercept = (res) => void res.destroy();
  for (let i = 0; i < 8; i += 1) {
    await isDue();
    await post();
  }
  expect([host.posted.length, await rows()]).toEqual([8, []]);
  expect(await errorOf()).toMatch(/^The status SUCCESS was not posted: .*(?:hang up|ECONNRESET).*\.$/);
});

test('a token that may not write statuses is not tried again for the same state, and the source says what to do', async () => {
  const id = await build('GITHUB');
  host.token = 'another';
  await post();
  await isDue();
  await post();
  expect(host.posted).toHaveLength(1);
  expect(await errorOf()).toBe(
    "The status PENDING was not posted: 127.0.0.1 answered 401. Give the token in the secret 'git' the right to write statuses of commits, or have none posted.",
  );
  host.token = TOKEN;
  await end(id, 'COMPLETED');
  await post();
  expect([states(), await errorOf()]).toEqual([['pending', 'success'], null]);
});

test('GitLab refuses a state that it has: a server was killed after it had posted it', async () => {
  await build('GITLAB');
  host.intercept = (res) =>
    res
      .writeHead(400)
      .end('{"message":"Cannot transition status via :enqueue from :pending (Reason(s): Status cannot)"}');
  await post();
  expect([await rows(), await errorOf()]).toEqual([[{ posted: 'PENDING', failures: 0 }], null]);
});

test('a server that stops while a host is silent leaves the status to the next', async () => {
  await build('GITEA');
  host.intercept = () => {};
  const heard = host.heard();
  await poster.runOnce();
  await heard;
  await poster.stop();
  expect(await rows()).toEqual([{ posted: null, failures: 0 }]);
  host.intercept = null;
  await post(newPoster());
  expect([states(), await rows()]).toEqual([['pending', 'pending'], [{ posted: 'PENDING', failures: 0 }]]);
});

test('a host that is silent delays its own user alone', async () => {
  await build('GITEA');
  const berta = await addUser();
  host.intercept = () => {};
  const heard = host.heard();
  await poster.runOnce();
  await heard;
  host.intercept = null;
  await build('GITEA', { userId: berta, id: await addEndpoint(berta), path: 'berta/app' });
  const told = host.heard();
  await poster.runOnce();
  await told;
  expect(host.posted.at(-1)!.path).toContain('/berta/');
});

test('addresses that no user may reach are not reached, and redirects are not followed', async () => {
  await build('GITHUB');
  const strict = newPoster({ webhooks: new WebhookPolicy({ allowPrivate: false, allowed: [] }) });
  await post(strict);
  expect(host.posted).toEqual([]);
  expect(await errorOf()).toMatch(
    /not posted: 127\.0\.0\.1 is an address of the server's own machine, which builds do not/,
  );
  await end(await build('GITHUB', { commit: 'e'.repeat(40) }), 'COMPLETED');
  host.intercept = (res) => res.writeHead(307, { location: `${host.origin}/elsewhere` }).end();
  await post();
  expect(host.posted).toHaveLength(1);
});

test('without statuses, without the secret, or once the repository is disconnected, nothing is posted', async () => {
  await build('NONE');
  expect(await rows()).toEqual([]);
  await build('GITHUB');
  await database.pool.query('delete from secrets where user_id = $1', [anna]);
  await post();
  expect(await errorOf()).toBe('The status PENDING was not posted: the secret with the token was deleted.');
  await change(context(), systemActor(anna), disconnectGit, { id: endpoint });
  await post();
  expect([host.posted, await rows()]).toEqual([[], []]);
});
