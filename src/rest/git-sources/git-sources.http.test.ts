import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';

let rest: RestFixture;
let alice: Person;
let endpoint: string;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  alice = await rest.addPerson(newId());
  const body = { name: 'app', image: 'a/b:1', gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } };
  const response = await rest.call('POST', '/v2/serverless', { key: alice.key, body });
  expect(response.statusCode, response.body).toBe(201);
  endpoint = response.json().id;
});

const URL = 'https://github.com/me/app.git';
const call = (method: string, path = '', body?: unknown, key = alice.key) =>
  rest.call(method, `/v2/serverless/${endpoint}/git-source${path}`, { key, ...(body === undefined ? {} : { body }) });
const put = (more: object = {}, key = alice.key) => call('PUT', '', { url: URL, ...more }, key);
async function connected(more: object = {}): Promise<{ id: string; webhookSecret: string; webhookUrl: string }> {
  const response = await put(more);
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}
const detailOf = async (response: ReturnType<typeof put>) => {
  const { statusCode, body } = await response;
  const { detail, errors } = JSON.parse(body);
  return [statusCode, errors?.[0] ?? detail];
};
const addSecret = (name: string) =>
  rest.call('POST', '/v2/account/secrets', { key: alice.key, body: { name, value: 'ghp_secret' } });
const isAsked = async (id: string) => {
  const { rows } = await rest.database.pool.query(
    'select asks > answered_asks as asked from git_sources where id = $1',
    [id],
  );
  return rows[0]?.asked;
};
const answerAsks = () => rest.database.pool.query('update git_sources set answered_asks = asks');

describe('the repository of an endpoint', () => {
  test('is stored, read, looked at and removed', async () => {
    expect((await call('GET')).statusCode).toBe(404);
    const source = await connected({ folder: './services/app/', pollSeconds: 300 });
    expect(source).toMatchObject({
      ...{ url: URL, branch: 'main', tags: null, folder: 'services/app', build: {}, pollSeconds: 300, isLooking: true },
      ...{
        auth: { type: 'NONE', secret: null, publicKey: null },
        lastCommit: null,
        lastError: null,
        lastBuildId: null,
      },
      ...{
        webhookUrl: `http://podyard.test:8080/hooks/git/${source.id}`,
        webhookSecret: expect.stringMatching(/^pyhook_/),
      },
    });
    expect((await call('GET')).json()).toEqual({ ...source, webhookSecret: null });
    await answerAsks();
    expect((await call('GET')).json().isLooking).toBe(false);
    const synced = await call('POST', '/sync');
    expect([synced.statusCode, synced.json().isLooking]).toEqual([202, true]);
    expect((await call('DELETE')).statusCode).toBe(204);
    expect((await call('DELETE')).statusCode).toBe(204);
    expect((await call('POST', '/sync')).statusCode).toBe(404);
  });

  test('keeps its webhook and its deploy key when it is connected again, and the secret is shown only when it is new', async () => {
    const ssh = { url: 'git@github.com:me/app.git', auth: { type: 'DEPLOY_KEY' } };
    const first = (await put(ssh)).json();
    expect(first.url).toBe('ssh://git@github.com/me/app.git');
    expect(first.auth.publicKey).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]{68} podyard-/);
    const second = (await put({ ...ssh, branch: 'dev' })).json();
    expect(second).toMatchObject({ id: first.id, auth: first.auth, branch: 'dev', webhookSecret: null });
    const third = (await put({ ...ssh, rotateWebhookSecret: true })).json();
    expect(third.webhookSecret).toMatch(/^pyhook_/);
    expect(third.webhookSecret).not.toBe(first.webhookSecret);
  });

  test('names a secret for its token, which is shown by its name alone, also when the secret is deleted', async () => {
    await addSecret('github-token');
    const source = (await put({ auth: { type: 'TOKEN', secret: 'github-token' } })).json();
    expect(source.auth).toEqual({ type: 'TOKEN', secret: 'github-token', publicKey: null });
    await rest.database.pool.query('delete from secrets where user_id = $1', [alice.userId]);
    expect((await call('GET')).json().auth).toEqual({ type: 'TOKEN', secret: null, publicKey: null });
  });

  test.each<[object, number, string]>([
    [{ url: 'nonsense' }, 400, 'url: is not a URL'],
    [{ url: 'file:///etc' }, 400, 'url: must begin with https:// or ssh://'],
    [{ url: 'ext::sh -c id' }, 400, 'url: is not a URL'],
    [
      { url: 'https://me:token@github.com/me/app' },
      400,
      'url: has a password: keep it in a secret, and name that in auth',
    ],
    [{ url: 'https://github.com/' }, 400, 'url: has no path of a repository'],
    [{ url: 'ssh://-oProxyCommand=id/x', auth: { type: 'DEPLOY_KEY' } }, 400, 'url: has no host'],
    [{ url: 'ssh://git@h%27;id/x', auth: { type: 'DEPLOY_KEY' } }, 400, 'url: has no host'],
    [
      { url: 'https://127.0.0.1/me/app' },
      400,
      "url: cannot be reached: 127.0.0.1 is an address of the server's own machine, which builds do not reach: an operator can allow it with --webhook-networks (PODYARD_WEBHOOK_NETWORKS)",
    ],
    [
      { url: 'https://169.254.169.254/latest' },
      400,
      "url: cannot be reached: 169.254.169.254 is a link-local address or one of the cloud's own services, which builds never reach",
    ],
    [{ branch: 'main', tags: 'v*' }, 400, 'branch, tags: give one of them, and not both'],
    [{ branch: '--upload-pack=id' }, 400, "branch: '--upload-pack=id' is not a branch name, such as main"],
    [{ tags: 'v[0-9]' }, 400, "tags: 'v[0-9]' is not a tag pattern, such as v*"],
    [{ folder: 'a/../../b' }, 400, "folder: 'a/../../b' is not a path in the repository, such as services/app"],
    [
      { auth: { type: 'DEPLOY_KEY' } },
      400,
      'auth: DEPLOY_KEY is for a repository behind ssh, such as git@github.com:me/app.git',
    ],
    [{ url: 'git@github.com:me/app' }, 400, 'auth: a repository behind ssh needs DEPLOY_KEY'],
    [{ auth: { type: 'TOKEN' } }, 400, 'auth: TOKEN needs secret, the name of the secret with the token'],
    [{ auth: { type: 'NONE', secret: 'x' } }, 400, 'auth: secret is for TOKEN alone'],
    [{ statuses: 'GITHUB' }, 400, 'statuses: GITHUB needs a TOKEN, which may write statuses of commits'],
    [{ auth: { type: 'TOKEN', secret: 'absent' } }, 400, "secrets: there is no secret 'absent'"],
    [{ build: { secrets: { TOKEN: 'absent' } } }, 400, "secrets: there is no secret 'absent'"],
  ])('cannot be %j', async (more, status, text) => {
    expect(await detailOf(put(more))).toEqual([status, text]);
    expect((await call('GET')).statusCode).toBe(404);
  });

  test('has statuses posted to the API of a host that is known, where there is a token, or to the one that is named', async () => {
    await addSecret('github-token');
    const auth = { type: 'TOKEN', secret: 'github-token' };
    const statuses = async (more: object) => ((await connected(more)) as { statuses?: string }).statuses;
    expect(await statuses({})).toBe('NONE');
    expect(await statuses({ auth })).toBe('GITHUB');
    expect(await statuses({ auth, statuses: 'NONE' })).toBe('NONE');
    expect(await statuses({ auth, url: 'https://git.example.com/me/app' })).toBe('NONE');
    expect(await statuses({ auth, url: 'https://git.example.com/me/app', statuses: 'GITEA' })).toBe('GITEA');
    expect((await put({ auth, statuses: 'gitea' })).statusCode).toBe(422);
    expect(await detailOf(put({ auth, url: 'https://git.example.com/app', statuses: 'GITLAB' }))).toEqual([
      ...[400, 'statuses: GITLAB needs a URL that ends with owner/repository'],
    ]);
  });

  test('is polled once a minute at most, and has no members that are unknown', async () => {
    expect((await put({ pollSeconds: 59 })).statusCode).toBe(422);
    expect((await put({ pollSeconds: 60 })).statusCode).toBe(200);
    expect((await put({ pollseconds: 60 })).statusCode).toBe(422);
  });

  test('needs a key that may write the endpoint and builds, and read secrets that it names', async () => {
    await addSecret('github-token');
    const token = { auth: { type: 'TOKEN', secret: 'github-token' } };
    const status = async (more: object, ...scopes: string[]) =>
      (await put(more, await rest.keyFor(alice, ...scopes))).statusCode;
    expect(await status({}, 'serverless:write')).toBe(403);
    expect(await status({}, 'builds:write')).toBe(403);
    expect(await status({}, 'serverless:read', 'builds:write')).toBe(403);
    expect(await status({}, 'serverless:write', 'builds:write')).toBe(200);
    expect(await status(token, 'serverless:write', 'builds:write')).toBe(403);
    expect(await status(token, 'serverless:write', 'builds:write', 'account:read')).toBe(200);
    const narrow = await rest.keyFor(alice, 'serverless:write');
    expect((await call('POST', '/sync', undefined, narrow)).statusCode).toBe(403);
    expect((await call('GET', '', undefined, 'wrong')).statusCode).toBe(401);
  });

  test('is nobody else’s', async () => {
    await connected();
    for (const [method, path, body] of [['GET'], ['PUT', '', { url: URL }], ['DELETE'], ['POST', '/sync']] as const) {
      const response = await call(method, path, body, rest.bob.key);
      expect([response.statusCode, response.json().detail]).toEqual([404, 'Endpoint not found']);
    }
    expect((await call('GET')).statusCode).toBe(200);
  });

  test('goes with its endpoint', async () => {
    const { id } = await connected();
    await rest.call('DELETE', `/v2/serverless/${endpoint}`, { key: alice.key });
    expect(await isAsked(id)).toBeUndefined();
  });
});

describe('a webhook', () => {
  const PUSH = JSON.stringify({ ref: 'refs/heads/main', after: 'a'.repeat(40), commits: [] });
  const post = (id: string, headers: Record<string, string>, body: string | Buffer = PUSH) =>
    rest.call('POST', `/hooks/git/${id}`, { headers, body });
  const github = (secret: string, body = PUSH, event = 'push') => ({
    'x-github-event': event,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  });
  const REFUSED = [401, 'there is no such webhook, or its signature does not match'];

  test('of GitHub, Gitea or GitLab has the repository looked at', async () => {
    const { id, webhookSecret: secret } = await connected();
    const gitea = {
      'x-gitea-event': 'push',
      'x-gitea-signature': createHmac('sha256', secret).update(PUSH).digest('hex'),
    };
    for (const headers of [github(secret), gitea, { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': secret }]) {
      await answerAsks();
      const response = await post(id, headers);
      expect([response.statusCode, response.json()]).toEqual([202, { look: true, ignored: null }]);
      expect(await isAsked(id)).toBe(true);
    }
  });

  test('that is a ping, or about something else, is told so', async () => {
    const { id, webhookSecret: secret } = await connected();
    await answerAsks();
    const ping = await post(id, github(secret, '{"zen":"x"}', 'ping'), '{"zen":"x"}');
    expect([ping.statusCode, ping.json().ignored]).toEqual([200, 'The webhook works.']);
    const other = PUSH.replace('main', 'dev');
    const ignored = await post(id, github(secret, other), other);
    expect([ignored.statusCode, ignored.json().ignored]).toEqual([
      200,
      "refs/heads/dev is ignored: only the branch 'main' counts.",
    ]);
    expect(await isAsked(id)).toBe(false);
  });

  test('without the secret, for another source or for none gets one and the same refusal', async () => {
    const { id, webhookSecret: secret } = await connected();
    await answerAsks();
    for (const response of [
      post(id, github('other')),
      post(id, github(secret, '{}')),
      post(id, { 'x-github-event': 'push' }),
      post(id, { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': '' }),
      post(newId(), github(secret)),
      post('x%00y', github(secret)),
    ])
      expect(await detailOf(response)).toEqual(REFUSED);
    expect(await isAsked(id)).toBe(false);
  });

  test('is refused with the former secret once that was rotated, and once the repository is disconnected', async () => {
    const { id, webhookSecret: secret } = await connected();
    const { webhookSecret: next } = await connected({ rotateWebhookSecret: true });
    expect(await detailOf(post(id, github(secret)))).toEqual(REFUSED);
    expect((await post(id, github(next))).statusCode).toBe(202);
    await call('DELETE');
    expect(await detailOf(post(id, github(next)))).toEqual(REFUSED);
  });

  test('that is malformed, huge or no JSON is refused', async () => {
    const { id, webhookSecret: secret } = await connected();
    expect((await post(id, github(secret, '{'), '{')).statusCode).toBe(400);
    const huge = Buffer.alloc(2 ** 20 + 1, 'x').toString();
    expect((await post(id, github(secret, huge), huge)).statusCode).toBe(413);
    const form = await post(id, { ...github(secret), 'content-type': 'application/x-www-form-urlencoded' });
    expect(form.statusCode).toBe(415);
    const nested = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    expect((await post(id, github(secret, nested), nested)).statusCode).toBe(200);
  });
});
