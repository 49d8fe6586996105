import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/account/ssh-keys';
const LAPTOP = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 alice@laptop';
const TOKEN = 'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5==';
const both = (...keys: string[]) => ({ sshKeys: keys, keys });
const list = async (key = rest.alice.key) => (await rest.call('GET', PATH, { key })).json();
const replace = (body: unknown, key = rest.alice.key) => rest.call('PUT', PATH, { key, body });

test('the keys of an account are replaced as a whole; other accounts are unaffected', async () => {
  expect(await list()).toEqual(both());
  const response = await replace({ sshKeys: [LAPTOP, TOKEN] });
  expect([response.statusCode, response.json()]).toEqual([200, both(LAPTOP, TOKEN)]);
  expect(await list()).toEqual(both(LAPTOP, TOKEN));
  expect(await list(rest.bob.key)).toEqual(both());
  await replace({ sshKeys: [TOKEN] });
  expect(await list()).toEqual(both(TOKEN));
  await replace({ sshKeys: [] });
  expect(await list()).toEqual(both());
});

test('either spelling replaces them', async () => {
  expect((await replace({ keys: [LAPTOP] })).json()).toEqual(both(LAPTOP));
  expect((await replace({ keys: ['sk-other@openssh.com AAAA a comment'] })).statusCode).toBe(200);
  expect((await replace({ keys: [] })).json()).toEqual(both());
});

test('keys saved as one text in GraphQL are listed one by one', async () => {
  const pubKey = `${LAPTOP}\r\n\n  ${TOKEN}\n`;
  await rest.graphql('mutation ($i: UpdateUserSettingsInput) { updateUserSettings(input: $i) { id } }', {
    key: rest.alice.key,
    variables: { i: { pubKey } },
  });
  expect(await list()).toEqual(both(LAPTOP, TOKEN));
});

test.each([
  ['two lines in one', { sshKeys: [`${LAPTOP}\n${TOKEN}`] }, '/sshKeys/0: must match pattern'],
  ['an end of line', { sshKeys: [LAPTOP, `${TOKEN}\n`] }, '/sshKeys/1: must match pattern'],
  ['options', { sshKeys: [`command="id" ${LAPTOP}`] }, '/sshKeys/0: must match pattern'],
  ['a private key', { sshKeys: ['-----BEGIN OPENSSH PRIVATE KEY-----'] }, '/sshKeys/0: must match pattern'],
  ['a text', { sshKeys: LAPTOP }, '/sshKeys: must be array'],
  ['null', { sshKeys: null }, '/sshKeys: must be array'],
  ['nothing', {}, "$: must have required property 'sshKeys'"],
  ['both spellings', { sshKeys: [TOKEN], keys: [TOKEN] }, '$: must have exactly one of sshKeys, keys'],
  ['two lines in one key', { keys: [`${LAPTOP}\n${TOKEN}`] }, '/keys/0: must match pattern'],
  ['options before a key', { keys: [`command="id" ${LAPTOP}`] }, '/keys/0: must match pattern'],
  ['an unknown property', { sshKeys: [], pubKey: LAPTOP }, "$: additional property 'pubKey' is not allowed"],
])('a replacement with %s is a 422, and changes nothing', async (_, body, error) => {
  await replace({ sshKeys: [LAPTOP] });
  const response = await replace(body);
  expect(response.statusCode).toBe(422);
  expect(response.json().errors[0]).toContain(error);
  expect(await list()).toEqual(both(LAPTOP));
});

test('no body, a broken one, and more than 16384 characters in all are a 400', async () => {
  await replace({ sshKeys: [LAPTOP] });
  for (const body of ['', '{"sshKeys":[', { sshKeys: Array(20).fill(`ssh-rsa ${'A'.repeat(1_000)}`) }]) {
    expect((await replace(body)).statusCode).toBe(400);
  }
  expect(await list()).toEqual(both(LAPTOP));
});

test('without a key it is a 401, without the permission a 403', async () => {
  for (const method of ['GET', 'PUT']) {
    const body = method === 'PUT' ? { sshKeys: [] } : undefined;
    expect((await rest.call(method, PATH, { ...(body && { body }) })).statusCode).toBe(401);
    const key = await rest.keyFor(rest.alice, 'serverless:read');
    expect((await rest.call(method, PATH, { key, ...(body && { body }) })).statusCode).toBe(403);
  }
  const key = await rest.keyFor(rest.alice, 'account:read');
  expect((await rest.call('GET', PATH, { key })).statusCode).toBe(200);
  expect((await replace({ sshKeys: [] }, key)).statusCode).toBe(403);
});
