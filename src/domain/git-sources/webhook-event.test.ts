import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { BRANCH, matchesTag, TAG_PATTERN } from './git-source.ts';
import { decideEvent, hasProof, isGenuine } from './webhook-event.ts';

const SECRET = 'pyhook_secret';
const BODY = Buffer.from('{"ref":"refs/heads/main"}');
const signed = (secret = SECRET) => createHmac('sha256', secret).update(BODY).digest('hex');

describe('a webhook is genuine', () => {
  test('with the signature of GitHub, of Gitea, or the token of GitLab', () => {
    expect(isGenuine({ 'x-hub-signature-256': `sha256=${signed()}` }, BODY, SECRET)).toBe(true);
    expect(isGenuine({ 'x-gitea-signature': signed() }, BODY, SECRET)).toBe(true);
    expect(isGenuine({ 'x-gitlab-token': SECRET }, BODY, SECRET)).toBe(true);
  });

  test('as GitHub’s documentation computes it', () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    expect(isGenuine(headers, Buffer.from('Hello, World!'), "It's a Secret to Everybody")).toBe(true);
  });

  test.each([
    ['another secret', { 'x-hub-signature-256': `sha256=${signed('other')}` }],
    ['an empty signature', { 'x-hub-signature-256': '' }],
    ['a shorter one', { 'x-gitea-signature': signed().slice(0, 32) }],
    ['a longer one', { 'x-gitea-signature': `${signed()}00` }],
    ['a SHA-1 signature alone', { 'x-hub-signature': 'sha1=2fd4e1c6' }],
    ['a wrong token', { 'x-gitlab-token': `${SECRET}x` }],
    ['an empty token beside a right signature', { 'x-gitlab-token': '', 'x-gitea-signature': signed() }],
    ['a signature twice', { 'x-hub-signature-256': [signed(), signed()] }],
    ['nothing', {}],
  ])('never with %s', (_, headers) => {
    expect(isGenuine(headers, BODY, SECRET)).toBe(false);
  });

  test('only if its body is the one that was signed', () => {
    expect(isGenuine({ 'x-gitea-signature': signed() }, Buffer.from('{}'), SECRET)).toBe(false);
  });

  test('and without any proof its body need not be read', () => {
    expect(hasProof({ 'x-github-event': 'push' })).toBe(false);
    expect(hasProof({ 'x-gitlab-token': '' })).toBe(true);
  });
});

describe('an event', () => {
  const main = { branch: 'main', tags: null };
  const versions = { branch: null, tags: 'v*' };
  const push = (ref: unknown, more: object = {}) => ({ ref, after: 'a'.repeat(40), ...more });

  test.each([
    ['GitHub', { 'x-github-event': 'push' }, push('refs/heads/main')],
    ['Gitea', { 'x-gitea-event': 'push', 'x-github-event': 'push' }, push('refs/heads/main')],
    ['GitLab', { 'x-gitlab-event': 'Push Hook' }, push('refs/heads/main')],
  ])('of %s that is a push to the branch has the repository looked at', (_, headers, body) => {
    expect(decideEvent(headers, body, main)).toEqual({ look: true });
  });

  test.each([
    ['a push of a tag', { 'x-github-event': 'push' }, push('refs/tags/v1.2')],
    ['a push of a tag at GitLab', { 'x-gitlab-event': 'Tag Push Hook' }, push('refs/tags/v1.2')],
    ['a release', { 'x-github-event': 'release' }, { action: 'published', release: { tag_name: 'v1.2' } }],
    ['a release at GitLab', { 'x-gitlab-event': 'Release Hook' }, { action: 'create', tag: 'v1.2' }],
  ])('that is %s counts where tags are built', (_, headers, body) => {
    expect(decideEvent(headers, body, versions)).toEqual({ look: true });
    expect(decideEvent(headers, body, main).look).toBe(false);
    expect(decideEvent(headers, body, { branch: null, tags: 'nightly-*' }).look).toBe(false);
  });

  test.each([
    [{ 'x-github-event': 'ping' }, { zen: 'Design for failure.' }, 'The webhook works.'],
    [{ 'x-github-event': 'issues' }, {}, "Events of the kind 'issues' are ignored: only pushes count."],
    [{}, {}, "Events of the kind 'unknown' are ignored: only pushes count."],
    [{ 'x-github-event': 'push' }, push('refs/heads/dev'), "refs/heads/dev is ignored: only the branch 'main' counts."],
    [{ 'x-github-event': 'push' }, push('refs/heads/main', { deleted: true }), 'refs/heads/main was deleted.'],
    [
      { 'x-gitlab-event': 'Push Hook' },
      push('refs/heads/main', { after: '0'.repeat(40) }),
      'refs/heads/main was deleted.',
    ],
    [{ 'x-github-event': 'push' }, push(7), 'The push names no ref.'],
    [{ 'x-github-event': 'push' }, null, 'The push names no ref.'],
    [{ 'x-github-event': 'push' }, [], 'The push names no ref.'],
  ])('%j with %j is ignored, and why is said', (headers, body, ignored) => {
    expect(decideEvent(headers, body, main)).toEqual({ look: false, ignored });
  });
});

test('a pattern of tags matches with * for any characters', () => {
  expect(matchesTag('v*', 'v1.2')).toBe(true);
  expect(matchesTag('v*', 'w1')).toBe(false);
  expect(matchesTag('*-prod', 'v1-prod')).toBe(true);
  expect(matchesTag('v*.*-x', 'v1.2-x')).toBe(true);
  expect(matchesTag('v1', 'v1')).toBe(true);
  expect(matchesTag('v1', 'v1.2')).toBe(false);
  expect(matchesTag('a*a', 'a')).toBe(false); // the ends do not overlap
  expect(matchesTag('v1.0', 'v1x0')).toBe(false);
});

test('names that git takes for options, patterns or other revisions are no branches', () => {
  for (const name of ['main', 'release/1.2', 'feature#1', 'ünï']) expect(BRANCH.test(name), name).toBe(true);
  for (const name of [
    '--upload-pack=x',
    'a..b',
    'a b',
    'a~1',
    'x^',
    'a:b',
    '*',
    '/a',
    'a/',
    'a.lock',
    '@{u}',
    'a\nb',
    '',
  ])
    expect(BRANCH.test(name), name).toBe(false);
  for (const pattern of ['--exec', '../x', 'v[0-9]', 'a b', '']) expect(TAG_PATTERN.test(pattern), pattern).toBe(false);
});
