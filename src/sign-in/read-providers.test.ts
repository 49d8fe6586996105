import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOwnSignIn } from './local/read-own-sign-in.ts';
import { readProviders } from './read-providers.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-sign-in-'));
  await writeFile(join(folder, 'secret'), 's3cret\n');
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: unknown) {
  const file = join(folder, 'sign-in.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readProviders(file);
}

const OWN = { name: 'acme', issuer: 'https://id.example.org', clientId: 'podyard' };

test('a provider gets the usual claims and scopes, and its secret from a file beside', async () => {
  expect(await read({ providers: [{ ...OWN, clientSecretFile: 'secret', claims: { groups: 'roles' } }] })).toEqual([
    {
      ...OWN,
      ...{ title: 'acme', clientSecret: 's3cret', scopes: 'openid profile email', joinByEmail: false },
      claims: { name: 'preferred_username', email: 'email', groups: 'roles' },
      ...{ type: 'oidc', adminGroups: null, auditorGroups: null, billingGroups: null, teams: [], userGroups: null },
    },
  ]);
});

test('GitHub needs no issuer, and the organizations that may sign in', async () => {
  const github = { name: 'github', type: 'github', clientId: 'c', clientSecret: 's', userGroups: ['acme'] };
  expect(await read({ providers: [github] })).toMatchObject([
    { issuer: 'https://github.com', scopes: 'read:user user:email read:org' },
  ]);
  expect(await read({ providers: [{ ...github, issuer: 'https://git.example.org' }] })).toMatchObject([
    { issuer: 'https://git.example.org' },
  ]);
});

const withSecret = (more: object) => ({ providers: [{ ...OWN, clientSecret: 'x', ...more }] });

test.each<[string, unknown, RegExp]>([
  ['no JSON', '{', /is not valid JSON/],
  ['no list', {}, /\$: must have required property 'providers'/],
  ['a member that is unknown', withSecret({ secret: 'x' }), /providers\/0: must NOT have additional properties secret/],
  ['a name that is no path', withSecret({ name: 'A/B' }), /providers\/0\/name: must match pattern/],
  [
    'an issuer without TLS',
    withSecret({ issuer: 'http://id.example.org' }),
    /'http:\/\/id.example.org' must be an https:\/\/ URL/,
  ],
  [
    'everybody’s issuer at Entra',
    withSecret({ issuer: 'https://login.microsoftonline.com/organizations/v2.0' }),
    /acme: issuer: '.*organizations\/v2\.0' is of every company at Entra: name your tenant/,
  ],
  [
    'the template of an issuer',
    withSecret({ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }),
    /is of every company at Entra: name your tenant/,
  ],
  [
    'such an issuer of assertions',
    {
      proxy: {
        header: 'X-Assertion',
        assertion: {
          issuer: 'https://login.microsoftonline.com/common/v2.0',
          audience: 'a',
          keysUrl: 'https://id.example.org/keys',
        },
      },
    },
    /is of every company at Entra: name your tenant/,
  ],
  ['no issuer', withSecret({ issuer: undefined }), /acme: give its issuer/],
  ['GitHub for everybody', withSecret({ type: 'github' }), /name your organizations in userGroups/],
  [
    'an unknown role',
    withSecret({ teams: [{ group: 'a', team: 'b', role: 'BOSS' }] }),
    /teams\/0\/role: must be equal/,
  ],
  [
    'a team without a group',
    withSecret({ teams: [{ team: 'b', role: 'VIEWER' }] }),
    /must have required property 'group'/,
  ],
  ['no secret', { providers: [OWN] }, /give either clientSecret or clientSecretFile/],
  ['two secrets', withSecret({ clientSecretFile: 'secret' }), /give either clientSecret or clientSecretFile/],
  ['a secret that is not there', { providers: [{ ...OWN, clientSecretFile: 'nothing' }] }, /nothing cannot be read/],
  [
    'one name twice',
    { providers: [...withSecret({}).providers, ...withSecret({}).providers] },
    /two providers are named 'acme'/,
  ],
])('a file with %s is refused with its place', async (_what, content, text) => {
  await expect(read(content).then(() => readOwnSignIn(join(folder, 'sign-in.json')))).rejects.toThrow(text);
});

test('a file that is not there is refused', async () => {
  await expect(readProviders(join(folder, 'missing.json'))).rejects.toThrow(/missing.json cannot be read/);
});

test('a file may switch passwords off, or name the proxy that signs people in', async () => {
  const file = join(folder, 'sign-in.json');
  expect(await read({ localAccounts: false })).toEqual([]);
  expect(await readOwnSignIn(file)).toEqual({ isLocalOn: false, proxy: null });
  const assertion = { issuer: 'https://team.example', audience: 'app', keysUrl: 'https://team.example/certs' };
  expect(await read({ proxy: { header: 'X-Who', assertion, userGroups: ['staff'] } })).toEqual([]);
  expect(await readOwnSignIn(file)).toMatchObject({
    isLocalOn: true,
    proxy: {
      title: 'the proxy',
      header: 'x-who',
      assertion,
      provider: { issuer: 'https://team.example', userGroups: ['staff'] },
    },
  });
});

test.each<[string, unknown, RegExp]>([
  ['no header', { proxy: {} }, /proxy: must have required property 'header'/],
  ['a header that is none', { proxy: { header: 'X Who' } }, /proxy\/header: must match pattern/],
  [
    'a misspelled member',
    { proxy: { header: 'X-Who', groupHeader: 'X' } },
    /must NOT have additional properties groupHeader/,
  ],
  [
    'keys without TLS',
    { proxy: { header: 'X', assertion: { issuer: 'a', audience: 'b', keysUrl: 'http://x/' } } },
    /keysUrl: must match/,
  ],
  [
    'the title of a provider',
    { providers: [{ ...OWN, clientSecret: 's' }], proxy: { header: 'X-Who', title: 'acme' } },
    /proxy: a provider is named 'acme', so give it another title/,
  ],
])('a proxy with %s is refused with its place', async (_what, content, text) => {
  await expect(read(content).then(() => readOwnSignIn(join(folder, 'sign-in.json')))).rejects.toThrow(text);
});
