import { afterAll, beforeAll, expect, test } from 'vitest';
import { describedBy, type Operation } from '../../test/check-answer.ts';
import { ownEverything, PLENTY } from '../../test/owned-things.ts';
import { type Person, type RestFixture, startRestApp } from '../../test/rest-app.ts';
import { newId } from '../core/ids.ts';
import { REST_REVISIONS } from '../core/rest-revisions.ts';

/** docs/interface/rest.md, "Errors": what belongs to somebody else is as unknown as what does not exist, byte for byte. */
let rest: RestFixture;
let owner: Person;
let stranger: string;
/** The owner's records, by the beginning of the paths that name them. */
let owned: Record<string, Record<string, string>>;

beforeAll(async () => {
  rest = await startRestApp({ capacity: PLENTY });
  const admin = await rest.addPerson('admin');
  owner = await rest.addPerson('owner');
  stranger = await rest.keyFor(await rest.addPerson('stranger'), 'all', 'exec', 'files:write');
  const own = { ...owner, key: await rest.keyFor(owner, 'all', 'exec', 'files:write') };
  const make = async (path: string, body: object, key = own.key): Promise<string> => {
    const response = await rest.call('POST', `/v2/${path}`, { key, body });
    expect(response.statusCode, `${path}: ${response.body}`).toBe(201);
    return response.json().id ?? response.json().session.id;
  };
  const { endpoint, pod, worker, ...things } = await ownEverything(rest, own);
  const { pool } = rest.database;
  await pool.query("update pods set phase = 'RUNNING', phase_revision = revision where id = $1", [pod]);
  const { releases } = (await rest.call('GET', `/v2/serverless/${endpoint}/releases`, { key: own.key })).json();
  const { rows } = await pool.query('select id from registry_delegations where user_id = $1', [owner.userId]);
  await pool.query(
    `insert into sessions (id, user_id, secret_hash, made_by, idle, expires_at)
     values ('session1', $1, sha256('x'), 'PASSWORD', '1 day', now() + interval '1 day')`,
    [owner.userId],
  );
  await pool.query(
    `insert into builds (id, user_id, name, source, recipe, args, secrets, uses_cache, content_hash)
     values ('build1', $1, 'b', 'UPLOAD', '{}', '{}', '{}', true, 'x')`,
    [owner.userId],
  );
  const hook = { name: 'n', kind: 'SLACK', url: 'https://nowhere.invalid/x' };
  const cluster = {
    ...{ name: 'c', type: 'TRAINING', image: 'any:1' },
    compute: { gpuTypeId: 'NVIDIA GeForce RTX 4090', podCount: 2, gpuCountPerPod: 1 },
  };
  owned = {
    '/v2/serverless/': { id: endpoint, workerId: worker, jobId: 'job', releaseId: releases[0].id },
    '/v2/pods/': { id: pod },
    '/v2/clusters/': { id: await make('clusters', cluster) },
    '/v2/builds/': { id: 'build1' },
    '/v2/templates/': { id: things.template },
    '/v2/network-volumes/': { id: things.volume },
    '/v2/registries/delegations/': { id: rows[0].id },
    '/v2/registries/': { id: things.registry },
    '/v2/billing/budgets/': { budgetId: await make('billing/budgets', { amount: '5' }) },
    '/v2/account/users/': { id: owner.userId, keyId: 'k', sessionId: 'session1' },
    '/v2/teams/': {
      id: await make('teams', { name: 'vision', ownerId: owner.userId }, admin.key),
      userId: owner.userId,
    },
    '/v2/account/api-keys/': { id: await make('account/api-keys', { name: 'k', scopes: ['all'] }) },
    '/v2/account/sessions/': { id: 'session1' },
    '/v2/account/s3-keys/': { id: await make('account/s3-keys', { name: 's', scopes: ['files:read'] }) },
    '/v2/account/notices/': { id: await make('account/notices', hook) },
    '/v2/account/terminals/': { id: await make(`pods/${pod}/terminals`, { command: ['sh'] }) },
    '/v2/account/secrets/': { id: things.secret },
  };
});
afterAll(() => rest.close());

/** These belong to the installation, not to an account. */
const NOBODYS = /^\/v2\/(catalog|models|builds\/files)\//;

function bodyOf(operation: Operation, schemas: Record<string, object>): unknown {
  const $ref = (operation.requestBody?.content['application/json']?.schema as { $ref?: string } | undefined)?.$ref;
  if ($ref === undefined) return undefined;
  return (schemas[$ref.split('/').at(-1)!] as { examples?: unknown[] }).examples?.[0];
}

test('REST: somebody else’s record and a missing one get the same answer to every operation', async () => {
  const compared = new Set<string>();
  for (const revision of REST_REVISIONS) {
    const { paths, components } = describedBy(revision);
    for (const [path, operations] of Object.entries(paths)) {
      if (!path.startsWith('/v2/') || !path.includes('{') || NOBODYS.test(path)) continue;
      const kind = Object.keys(owned).find((prefix) => path.startsWith(prefix));
      expect(kind, path).toBeDefined();
      for (const [method, operation] of Object.entries(operations)) {
        const body = bodyOf(operation, components.schemas);
        const answer = async (idOf: (name: string) => string) => {
          const ids = new Map<string, string>();
          const url = path.replace(/\{(\w+)\}/g, (_, name: string) => {
            ids.set(name, idOf(name));
            return ids.get(name)!;
          });
          const options = { key: stranger, ...(body !== undefined && { body }) };
          const {
            statusCode,
            body: text,
            headers,
          } = await rest.call(method.toUpperCase(), `/${revision}${url}`, options);
          let shown = text;
          for (const [name, id] of ids) shown = shown.replaceAll(id, `{${name}}`);
          return [statusCode, headers['content-type'], shown];
        };
        const name = `${revision} ${method} ${path}`;
        const theirs = await answer((param) => owned[kind!]![param]!);
        expect(theirs, name).toEqual(await answer(() => newId(14)));
        expect([400, 403, 404, 422], `${name}: ${theirs}`).toContain(theirs[0]);
        compared.add(operation.operationId);
      }
    }
  }
  expect(compared.size).toBeGreaterThan(80);
});

test('what was asked for is as it was', async () => {
  const { pool } = rest.database;
  const { rows } = await pool.query(
    `select operation from audit_entries where owner_id = $1 and outcome = 'done' and actor_id is distinct from $1 and actor_kind = 'key'
       and operation <> 'team.create' and operation <> 'user.create'`,
    [owner.userId],
  );
  expect(rows).toEqual([]);
});
