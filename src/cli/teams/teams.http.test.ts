import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import type { Person } from '../../../test/rest-app.ts';

let cli: CliFixture;
let admin: Person;
beforeAll(async () => {
  cli = await startCliFixture();
  admin = await cli.rest.addPerson('admin');
});
afterAll(() => cli.close());

const podyard = (person: Person, args: string[], more: Record<string, string> = {}) =>
  cli.podyard(args, { env: { PODYARD_API_KEY: person.key, ...more } });
const ok = { status: 0 };

test('a team is made, joined, acted for, and left', async () => {
  const { alice, bob } = cli.rest;
  expect(await podyard(alice, ['teams'])).toMatchObject({ ...ok, err: expect.stringMatching(/^You are in no team/) });
  const made = await podyard(admin, ['teams', 'create', 'vision', '--owner', 'alice']);
  expect(made).toMatchObject({ ...ok, out: expect.stringMatching(/^[a-z0-9]{14} {2}vision$/) });
  const id = JSON.parse((await podyard(bob, ['teams', 'whoami', '--json'])).out).id;
  expect((await podyard(alice, ['teams', 'add', 'vision', id, '--role', 'developer'])).err).toBe(
    'bob is developer of the team.',
  );
  expect((await podyard(bob, ['teams'])).out).toMatch(/^\S+ +vision +developer +2 +active$/m);
  expect((await podyard(alice, ['teams', 'members', 'vision'])).out).toMatch(/ bob +developer /);

  const create = ['templates', 'create', 'shared', '--image', 'i:1', '--team', 'vision'];
  expect(await podyard(bob, create)).toMatchObject(ok);
  expect((await podyard(alice, ['templates'], { PODYARD_TEAM: 'vision' })).out).toMatch(/ shared /);
  expect((await podyard(bob, ['templates'])).out).toBe('');
  const remove = ['templates', 'delete', 'shared', '--yes', '--team', 'vision'];
  expect(await podyard(bob, remove)).toMatchObject({ status: 3, err: expect.stringContaining('access denied') });
  expect(await podyard(alice, ['teams', 'update', 'vision', 'bob', '--role', 'operator'])).toMatchObject(ok);
  expect(await podyard(bob, remove)).toMatchObject(ok);

  expect(await podyard(bob, ['teams', 'remove', 'vision', 'bob', '--yes'])).toMatchObject({
    err: 'bob is no longer in vision.',
  });
  expect(await podyard(bob, ['templates', '--team', 'vision'])).toMatchObject({
    status: 3,
    err: expect.stringContaining('access denied: you are in no such team'),
  });
  expect(await podyard(alice, ['teams', 'remove', 'vision', 'alice', '--yes'])).toMatchObject({
    status: 5,
    err: expect.stringContaining("'alice' is the only active owner of the team 'vision'"),
  });
});

test('an admin names people and teams by name; a key of a team acts for it by itself', async () => {
  expect(await podyard(admin, ['teams', 'create', 'sound'])).toMatchObject(ok);
  expect(await podyard(admin, ['teams', 'add', 'sound', 'bob'])).toMatchObject({ err: 'bob is viewer of the team.' });
  expect(await podyard(admin, ['teams', 'rename', 'sound', 'audio'])).toMatchObject(ok);
  expect(await podyard(admin, ['users', 'limits', 'audio', 'pods=1'])).toMatchObject(ok);
  const key = (await podyard(admin, ['keys', 'create', 'ci', '--team', 'audio'])).out;
  const service = { PODYARD_API_KEY: key };
  const account = (await cli.podyard(['teams', 'whoami', '--json'], { env: service })).out;
  expect(JSON.parse(account)).toMatchObject({ name: 'audio', role: 'USER' });
  expect(await podyard(admin, ['teams', 'delete', 'audio', '--yes'])).toMatchObject(ok);
  expect(await cli.podyard(['templates'], { env: service })).toMatchObject({ status: 3 });
  expect(await podyard(admin, ['templates', '--team', 'Größe'])).toMatchObject({
    status: 2,
    err: "podyard: 'Größe': name the team by its id, as `podyard teams` lists",
  });
});
