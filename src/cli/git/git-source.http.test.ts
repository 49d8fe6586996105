import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';

let cli: CliFixture;
beforeAll(async () => {
  cli = await startCliFixture();
});
afterAll(() => cli.close());
beforeEach(async () => {
  await cli.podyard(['endpoints', 'delete', 'echo', '--yes']);
  await cli.json(['endpoints', 'create', 'echo', '--image', 'i:1', '--pool', 'ADA_24']);
});
const git = (...args: string[]) => cli.podyard(['git', ...args]);

test('connect shows the webhook with its secret once, and show says what the last look found', async () => {
  const { status, out, err } = await git(
    'connect',
    'echo',
    'https://github.com/me/app',
    '--folder',
    'a',
    '--poll',
    '60',
  );
  expect([status, err.includes('add the webhook to the repository')]).toEqual([0, true]);
  expect(out).toMatch(
    /^repository {2}https:\/\/github\.com\/me\/app\nbuilds {6}branch main\nfolder {6}a\npolls {7}every 60 seconds\nwebhook {5}\S+\/hooks\/git\/\w+\nsecret {6}pyhook_\S+ \(shown this once\)\nlast look {3}is to come/,
  );
  await cli.rest.database.pool.query(
    `update git_sources set answered_asks = asks, last_commit = $1, last_ref = 'refs/heads/main', last_looked_at = now(), commit_error = 'No handler.'`,
    ['0123456789'.repeat(4)],
  );
  const shown = await git('show', 'echo');
  expect(shown.out).toMatch(/last look {3}\d{4}-.*\ncommit {6}0123456 of refs\/heads\/main\nproblem {5}No handler\.$/);
  expect(shown.out).not.toContain('pyhook_');
  expect((await git('sync', 'echo')).err).toContain('The server looks at https://github.com/me/app.');
  expect((await cli.json(['git', 'show', 'echo'])).isLooking).toBe(true);
  expect((await git('disconnect', 'echo')).err).toBe('echo is built from no repository any more, and keeps its image.');
  expect((await git('show', 'echo')).status).toBe(4);
});

test('a deploy key is shown with what to do with it', async () => {
  const { out, err } = await git('connect', 'echo', 'git@github.com:me/app.git', '--deploy-key', '--tags', 'v*');
  expect(out).toMatch(/builds {6}the highest tag of v\*\ndeploy key {2}ssh-ed25519 /);
  expect(err).toContain('Add the deploy key to the repository, for reading alone, then: podyard git sync echo');
});

test('statuses go to the API that is named, and show says why one was not posted', async () => {
  await cli.podyard(['secrets', 'create', 'token'], { input: 'x' });
  const { out } = await git(
    ...['connect', 'echo', 'https://git.example.com/me/app', '--token-secret', 'token', '--statuses', 'gitea'],
  );
  expect(out).toContain('\nstatuses    to the API of GITEA\n');
  await cli.rest.database.pool.query("update git_sources set status_error = 'Refused.'");
  expect((await git('show', 'echo')).out).toMatch(/\nproblem {5}Refused\.$/);
});

test.each([
  [['--branch', 'main', '--tags', 'v*'], 2, 'podyard: give --branch or --tags, not both'],
  [['--token-secret', 't', '--deploy-key'], 2, 'podyard: give --token-secret, for https, or --deploy-key, for ssh'],
  [['--token-secret', 'absent'], 5, "there is no secret 'absent'"],
  [['--poll', '5'], 5, 'Poll seconds: at least 60'],
])('%j is refused', async (options, status, text) => {
  const result = await git('connect', 'echo', 'https://github.com/me/app', ...options);
  expect([result.status, result.err]).toEqual([status, expect.stringContaining(text)]);
});
