import { expect, test } from 'vitest';
import { apiOfHost, type CommitState, hasStatusPath, type StatusApi, statusRequest } from './commit-status.ts';

const COMMIT = 'a'.repeat(40);
const request = (
  api: Exclude<StatusApi, 'NONE'>,
  url: string,
  state: CommitState = 'SUCCESS',
  ref = 'refs/heads/main',
) => statusRequest(api, { url, commit: COMMIT, ref }, { state, endpointName: 'app', page: 'https://p/b' }, 'token');

test.each([
  ['GITHUB', 'https://github.com/me/app.git', `https://api.github.com/repos/me/app/statuses/${COMMIT}`],
  [
    'GITHUB',
    'https://git.example.com:8443/me/app',
    `https://git.example.com:8443/api/v3/repos/me/app/statuses/${COMMIT}`,
  ],
  ['GITLAB', 'https://gitlab.com/a/b/app.git', `https://gitlab.com/api/v4/projects/a%2Fb%2Fapp/statuses/${COMMIT}`],
  ['GITEA', 'https://deploy@codeberg.org/me/app', `https://codeberg.org/api/v1/repos/me/app/statuses/${COMMIT}`],
  ['GITEA', 'https://example.com/git/me/app.git', `https://example.com/git/api/v1/repos/me/app/statuses/${COMMIT}`],
  ['GITHUB', 'https://github.com/me/a%20b', `https://api.github.com/repos/me/a%20b/statuses/${COMMIT}`],
] as const)('%s at %s takes statuses at %s', (api, url, wanted) => {
  expect(request(api, url).url).toBe(wanted);
});

test.each([
  ['GITHUB', ['pending', 'success', 'failure', 'error'], { authorization: 'Bearer token' }],
  ['GITLAB', ['pending', 'success', 'failed', 'canceled'], { 'private-token': 'token' }],
  ['GITEA', ['pending', 'success', 'failure', 'error'], { authorization: 'token token' }],
] as const)('%s has the words %j, and gets the token in its header', (api, words, headers) => {
  const states = ['PENDING', 'SUCCESS', 'FAILURE', 'CANCELLED'] as const;
  const sent = states.map((state) => request(api, 'https://h/me/app', state));
  expect(sent.map(({ body }) => (body as { state: string }).state)).toEqual(words);
  for (const one of sent) {
    expect(one.headers).toMatchObject(headers);
    expect(one.url + JSON.stringify(one.body)).not.toContain('token');
  }
});

test('GitLab is told the branch or tag by its short name', () => {
  expect(request('GITLAB', 'https://h/me/app').body).toMatchObject({ ref: 'main' });
  expect(request('GITLAB', 'https://h/me/app', 'SUCCESS', 'refs/tags/v1/2').body).toMatchObject({ ref: 'v1/2' });
});

test('a link leads to the page of the build, where the server knows its URL', () => {
  expect(request('GITHUB', 'https://h/me/app').body).toMatchObject({
    target_url: 'https://p/b',
    context: 'podyard/app',
  });
  const bare = statusRequest(
    ...(['GITEA', { url: 'https://h/me/app', commit: COMMIT, ref: 'refs/heads/main' }] as const),
    ...([{ state: 'PENDING', endpointName: 'app', page: null }, 't'] as const),
  );
  expect(bare.body).not.toHaveProperty('target_url');
});

test('hosts that everybody knows need no setting, and a path without an owner has no statuses', () => {
  expect(['GitHub.com', 'gitlab.com', 'codeberg.org', 'git.example.com'].map(apiOfHost)).toEqual([
    ...['GITHUB', 'GITLAB', 'GITEA', 'NONE'],
  ]);
  expect(['https://h/me/app', 'https://h/app.git', 'https://h//app/'].map(hasStatusPath)).toEqual([true, false, false]);
});
