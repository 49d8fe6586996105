import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
});
afterAll(() => plane.close());

const USERS = 'account/users';

async function rest(method: string, path: string, body?: object, key?: string): Promise<Answer> {
  return plane.call(method, path, { ...(body && { body }), ...(key && { authorization: `Bearer ${key}` }) });
}

interface Somebody {
  id: string;
  key: string;
  endpoint: string;
}

/** A user with an endpoint of two workers. */
async function somebody(name: string, workers = 2): Promise<Somebody> {
  const { userId, key } = (await rest('POST', USERS, { name })).body;
  const made = await rest(
    'POST',
    'serverless',
    { name, image: 'any:1', gpu: { pools: ['ADA_24'] }, workers: { min: workers, max: workers } },
    key.secret,
  );
  return { id: userId, key: key.secret, endpoint: made.body.id };
}

const running = async (endpoint: string) =>
  (await plane.sql("select from workers where endpoint_id = $1 and phase = 'RUNNING'", endpoint)).length;
const submit = ({ endpoint, key }: Somebody) => rest('POST', `${endpoint}/run`, { input: { n: 1 } }, key);

/** docs/interface/rest.md, "Users" */
test('a suspension refuses jobs and ends what is held, and STOP scales endpoints to zero until it ends', async () => {
  const who = await somebody('suspended');
  await expect.poll(() => running(who.endpoint)).toBe(2);
  const held = rest('POST', `${who.endpoint}/runsync`, { input: {} }, who.key);
  await expect
    .poll(async () => (await plane.sql('select from jobs where endpoint_id = $1', who.endpoint)).length)
    .toBe(1);
  await rest('POST', `${USERS}/${who.id}/suspend`, { workloads: 'KEEP' });
  expect((await held).status).toBe(401);
  const refused = await submit(who);
  expect([refused.status, refused.text]).toEqual([
    403,
    expect.stringContaining('this account is suspended: ask an admin of this server'),
  ]);
  expect(await running(who.endpoint)).toBe(2);
  await rest('POST', `${USERS}/${who.id}/suspend`, { workloads: 'STOP' });
  await expect.poll(() => running(who.endpoint)).toBe(0);
  await rest('POST', `${USERS}/${who.id}/resume`);
  await expect.poll(() => running(who.endpoint)).toBe(2);
  expect((await submit(who)).status).toBe(200);
});

/** docs/interface/rest.md, "Users" */
test('a user is deleted while they submit jobs, and while the server restarts; nothing of theirs is left', async () => {
  const who = await somebody('deleted');
  const other = await somebody('kept', 0);
  let isDeleted = false;
  const statuses = new Set<number>();
  const submitAll = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isDeleted) statuses.add((await submit(who).catch(() => ({ status: 0 }))).status);
    }),
  );
  await expect.poll(() => statuses.has(200)).toBe(true);
  expect((await rest('DELETE', `${USERS}/${who.id}`)).status).toBe(202);
  await expect.poll(() => statuses.has(403)).toBe(true);
  await plane.restart();
  await expect
    .poll(
      async () => {
        await plane.sql("update usage_meter set metered_until = now() + interval '10 minutes'");
        return (await rest('GET', `${USERS}/${who.id}`)).status;
      },
      { timeout: 40_000 },
    )
    .toBe(404);
  isDeleted = true;
  await submitAll;
  expect([...statuses].filter((status) => ![0, 200, 401, 403, 404].includes(status))).toEqual([]);
  for (const table of ['jobs', 'workers', 'releases', 'batches']) {
    expect(await plane.sql(`select from ${table} where endpoint_id = $1`, who.endpoint)).toEqual([]);
  }
  expect(await plane.sql('select from endpoints where user_id = $1', who.id)).toEqual([]);
  expect((await submit(other)).status).toBe(200);
});

/** docs/interface/teams.md, "The queue API" */
test('members send work to endpoints of their team as their role permits; what they hold open ends with it', async () => {
  const made = async (name: string) => (await rest('POST', USERS, { name, key: { scopes: ['all'] } })).body;
  const [owner, developer, viewer, stranger] = [
    await made('ow'),
    await made('dev'),
    await made('view'),
    await made('st'),
  ];
  const team = (await rest('POST', 'teams', { name: 'vision', ownerId: owner.userId })).body.id;
  const members = `teams/${team}/members`;
  await rest('POST', members, { userId: developer.userId, role: 'DEVELOPER' });
  await rest('POST', members, { userId: viewer.userId, role: 'VIEWER' });
  const as = ({ key }: { key: { secret: string } }, method: string, path: string, body?: object, headers = {}) =>
    plane.call(method, path, { ...(body && { body }), authorization: `Bearer ${key.secret}`, headers });
  const settings = { image: 'any:1', gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } };
  const inTeam = { 'podyard-team': team };
  const create = (fields: object) => as(developer, 'POST', 'serverless', { ...settings, ...fields }, inTeam);
  const { id } = (await create({ name: 'queue' })).body;
  const { id: lb } = (await create({ name: 'lb', type: 'LOAD_BALANCING' })).body;

  const job = await as(developer, 'POST', `${id}/run`, { input: { n: 1 } });
  expect(job.status).toBe(200);
  expect((await as(viewer, 'GET', `${id}/status/${job.body.id}`)).status).toBe(200);
  for (const path of [`${id}/run`, `${id}/purge-queue`, `${lb}/lb/`]) {
    const refused = await as(viewer, 'POST', path, { input: {} });
    expect([path, refused.status, refused.text.includes('access denied')]).toEqual([path, 403, true]);
  }
  const [foreign, missing] = await Promise.all(
    [`${id}/run`, 'aaaaaaaaaaaaaa/run'].map((path) => as(stranger, 'POST', path, { input: {} })),
  );
  expect([foreign!.status, foreign!.text]).toEqual([404, missing!.text]);
  const listed = async (person: typeof owner, headers = {}) =>
    (await as(person, 'GET', '../openai/v1/models', undefined, headers)).text.includes('"queue"');
  expect([await listed(viewer), await listed(developer), await listed(developer, inTeam)]).toEqual([
    false,
    false,
    true,
  ]);

  const held = as(developer, 'POST', `${id}/runsync`, { input: {} });
  await expect.poll(async () => (await plane.sql('select from jobs where endpoint_id = $1', id)).length).toBe(2);
  await rest('DELETE', `${members}/${developer.userId}`);
  const cut = await held;
  expect([cut.status, cut.text.includes('membership or role has changed')]).toEqual([403, true]);
  const after = await as(developer, 'POST', `${id}/run`, { input: {} });
  expect([after.status, after.text]).toEqual([404, missing!.text]);
  await rest('POST', `${USERS}/${team}/suspend`, { workloads: 'KEEP' });
  expect((await as(viewer, 'GET', `${id}/status/${job.body.id}`)).text).toContain("the team 'vision' is suspended");
});
