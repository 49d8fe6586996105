import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownEverything, PLENTY } from '../../../test/owned-things.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { type KeyId, newId, type PodId, type RegistryId, type SessionId, type TemplateId } from '../../core/ids.ts';
import { type Actor, systemActor } from '../access/actor.ts';
import { change } from '../change.ts';
import { changeClusterRegistry } from '../clusters/change-cluster.ts';
import type { Context } from '../context.ts';
import { updateFollowedTemplate } from '../endpoints/update-followed-template.ts';
import { acceptInvitation, createInvitation } from '../local-accounts/invitations.ts';
import { createPasskey, removePasskey, renamePasskey } from '../local-accounts/passkeys.ts';
import { changePassword, removePassword } from '../local-accounts/passwords.ts';
import { fetchMachineModel, removeMachineModel, updateMachineModel } from '../machine-models/change-machine-models.ts';
import { writeMachineState } from '../machine-models/machine-model-store.ts';
import { pinModel } from '../models/pinned-model-store.ts';
import { updateRegistry } from '../registries/change-registry.ts';
import { joinIdentity, leaveGroups } from '../sessions/join-identity.ts';
import { openPod } from '../sessions/pod-sign-ins.ts';
import { createSession, endSession } from '../sessions/sessions.ts';
import { ensureSimulation } from '../simulation/simulation.ts';
import { markTemplate } from '../templates/change-template.ts';
import { AUDITED_RECORDS } from './audited-records.ts';

/** In every value that entries must not show. */
const CANARY = 'c4n4ry';
/** It has no address: nothing is sent. */
const CANARY_HOST = 'nowhere.invalid';
/** Operations that leave no entry, or that only control carries out, and tests beside it cover. */
const NOT_CALLED = [
  ...['endpoint.renew-lease', 'endpoint.notice-push'], // none, see `isAudited`
  ...['endpoint.move-image', 'endpoint.end-lease', 'endpoint.deploy-build', 'build.create-from-git'],
  ...['build.create', 'build.retry', 'build.cancel'], // need a builder
];
/** Their operations change rows of these kinds, which the log shows nothing of. */
const NOT_SHOWN: string[] = [];

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  rest = await startRestApp({ capacity: PLENTY });
  admin = await rest.addPerson('admin');
  await ensureSimulation(rest.database.pool, [{ pool: 'ADA_24', dataCenterId: 'LOCAL-1', total: 4 }]);
});
afterAll(() => rest.close());

/** Every operation of the program, by what its modules export. */
async function listOperations(): Promise<string[]> {
  const root = new URL('..', import.meta.url);
  const files = await readdir(root, { recursive: true });
  const names = new Set<string>();
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const exported: Record<string, unknown> = await import(new URL(file, root).href);
    for (const value of Object.values(exported)) {
      const { name, run, subject } = (value ?? {}) as { name?: unknown; run?: unknown; subject?: unknown };
      if (typeof name === 'string' && typeof run === 'function' && typeof subject === 'function') names.add(name);
    }
  }
  return [...names].sort();
}

async function call(person: Person, method: string, path: string, body?: object) {
  const response = await rest.call(method, `/v2/${path}`, { key: person.key, ...(body && { body }) });
  expect(response.statusCode, `${method} ${path}: ${response.body}`).toBeLessThan(300);
  return response.body === '' ? {} : response.json();
}

/** Calls every operation that a request can, with the canary in each secret, credential and value of `env`. */
async function callEverything(person: Person): Promise<void> {
  const as = (method: string, path: string, body?: object) => call(person, method, path, body);
  const { endpoint, pod, template, secret, registry, volume, worker } = await ownEverything(rest, person, 'own');
  const env = { TOKEN: CANARY };
  await as('PATCH', `serverless/${endpoint}`, { workers: { max: 2 } });
  await as('PATCH', `serverless/${endpoint}`, { image: 'any:2', env });
  const { releases } = await as('GET', `serverless/${endpoint}/releases`);
  await as('POST', `serverless/${endpoint}/releases/${releases.at(-1).id}/rollback`);
  await as('POST', `serverless/${endpoint}/rollout`, { action: 'pause' });
  await as('PUT', `serverless/${endpoint}/gpu-rule`, {
    excludedGpuTypes: [],
    allowedCudaVersions: [],
    minCudaVersion: '12.4',
  });
  const floors = [{ days: ['MON'], from: '08:00', until: '18:00', workersMin: 1 }];
  await as('PUT', `serverless/${endpoint}/schedule`, { timeZone: 'Europe/Berlin', floors });
  await as('DELETE', `serverless/${endpoint}/schedule`);
  const options = { labels: { 'example.com/team': 'a' }, annotations: {}, cpusPerGpu: null, memoryGbPerGpu: null };
  await as('PUT', `serverless/${endpoint}/workload-options`, options);
  await as('POST', 'account/secrets', { name: 'GIT', value: CANARY });
  const auth = { type: 'TOKEN', secret: 'GIT' };
  const build = { args: { A: CANARY } };
  await as('PUT', `serverless/${endpoint}/git-source`, { url: 'https://git.example.com/a/b.git', auth, build });
  await as('POST', `serverless/${endpoint}/git-source/sync`);
  await as('DELETE', `serverless/${endpoint}/git-source`);
  await as('PATCH', `pods/${pod}`, { env });
  await as('PUT', `pods/${pod}/access`, { private: true });
  await as('PUT', `pods/${pod}/lifetime`, { stopAfter: '2099-01-01T00:00:00.000Z', terminateAfter: null });
  await rest.database.pool.query("update pods set phase = 'RUNNING', phase_revision = revision where id = $1", [pod]);
  const exec = { ...person, key: await rest.keyFor(person, 'exec') };
  const { session } = await call(exec, 'POST', `pods/${pod}/terminals`, { command: ['psql', CANARY] });
  await as('DELETE', `account/terminals/${session.id}`);
  await as('POST', `pods/${pod}/action`, { action: 'restart' });
  await as('POST', `pods/${pod}/action`, { action: 'stop' });
  await rest.database.pool.query("update pods set phase = 'EXITED', phase_revision = revision where id = $1", [pod]);
  await as('POST', `pods/${pod}/action`, { action: 'start' });
  await as('DELETE', `pods/${pod}`);
  await as('PATCH', `templates/${template}`, { env });
  await as('PATCH', `network-volumes/${volume}`, { name: 'grown', size: 11 });
  await as('PATCH', `account/secrets/${secret}`, { value: `${CANARY} anew` });
  const budget = await as('POST', 'billing/budgets', { amount: '5', webhook: `https://example.com/${CANARY}` });
  await as('PATCH', `billing/budgets/${budget.id}`, { amount: '6' });
  await as('DELETE', `billing/budgets/${budget.id}`);
  const hook = { name: 'n', kind: 'SLACK', url: `http://192.0.2.1/${CANARY}` };
  expect((await rest.call('POST', '/v2/account/notices', { key: person.key, body: hook })).statusCode).toBe(400);
  const destination = await as('POST', 'account/notices', { ...hook, url: `https://${CANARY_HOST}/${CANARY}` });
  await as('PATCH', `account/notices/${destination.id}`, { waitMinutes: 5 });
  await as('POST', `account/notices/${destination.id}/test`);
  await as('DELETE', `account/notices/${destination.id}`);
  const cluster = await as('POST', 'clusters', {
    ...{ name: 'c', type: 'TRAINING', image: 'any:1', env },
    compute: { gpuTypeId: 'NVIDIA GeForce RTX 4090', podCount: 2, gpuCountPerPod: 1 },
  });
  await as('PATCH', `clusters/${cluster.id}`, { name: 'd' });
  const key = await as('POST', 'account/api-keys', { name: 'k', scopes: ['all'] });
  await as('PATCH', `account/api-keys/${key.id}`, { name: 'k2', allowedAddresses: ['203.0.113.0/24'] });
  await as('POST', `account/api-keys/${key.id}/rotate`, {});
  await as('DELETE', `account/api-keys/${key.id}`);
  const filer = { ...person, key: await rest.keyFor(person, 'account:write', 'files:write') };
  const s3Key = await call(filer, 'POST', 'account/s3-keys', { name: 's', scopes: ['files:read'] });
  await as('DELETE', `account/s3-keys/${s3Key.id}`);
  const mate = await rest.addPerson('mate');
  const team = await as('POST', 'teams', { name: 'research' });
  await as('PATCH', `teams/${team.id}`, { name: 'physics' });
  await as('POST', `teams/${team.id}/members`, { userId: mate.userId, role: 'VIEWER' });
  await as('PATCH', `teams/${team.id}/members/${mate.userId}`, { role: 'OPERATOR' });
  await as('DELETE', `teams/${team.id}/members/${mate.userId}`);
  await as('DELETE', `teams/${team.id}`);
  await as('PUT', 'account/ssh-keys', { sshKeys: [] });
  await as('PATCH', 'account/installation/limits', { pods: 100 });
  const user = await as('POST', 'account/users', { name: 'otto' });
  await as('PATCH', `account/users/${user.userId}`, { email: 'otto@example.org' });
  await as('PUT', `account/users/${user.userId}/rate-limit`, { exempt: true, minute: null, hour: null, day: null });
  const inviting = { ...person, key: await rest.keyFor(person, 'all', 'exec', 'files:write') };
  await call(inviting, 'POST', `account/users/${user.userId}/invitation`, {});
  await as('DELETE', `account/users/${user.userId}/invitation`);
  await as('POST', `account/users/${user.userId}/suspend`, {});
  await as('POST', `account/users/${user.userId}/resume`);
  await as('DELETE', `account/users/${user.userId}`);
  await as('POST', 'account/simulation', { action: 'slow-pull', seconds: 1 });
  const { delegations } = await as('GET', 'registries/delegations');
  await as('DELETE', `registries/delegations/${delegations[0].id}`);
  await as('DELETE', `serverless/${endpoint}`);
  await rest.database.pool.query("update workers set phase = 'EXITED', exited_at = now() where id = $1", [worker]);
  await as('DELETE', `account/secrets/${secret}`);
  await as('DELETE', `network-volumes/${volume}`);
  const actor = { userId: person.userId, keyId: 'k' as KeyId, scopes: [{ kind: 'all' as const }] };
  const { pool } = rest.database;
  const context = { pool, bus: rest.bus, secretBox: rest.secretBox };
  const browser = await change(context, actor, createSession, {
    sessionId: newId<SessionId>(),
    ...({ madeBy: 'PASSWORD', userAgent: 'Firefox', address: '192.0.2.1' } as const),
    lifetime: { idleMs: 1_000, maxMs: 1_000 },
  });
  await change(context, { ...actor, sessionId: browser.id }, openPod, { id: pod as PodId, port: 80, state: '' });
  await change(context, actor, endSession, { userId: person.userId, sessionId: browser.id });
  await useLocalAccount(context, actor);
  const joined = {
    issuer: 'https://id.example.com',
    subject: CANARY,
    email: 'new@example.org',
    groups: [],
    name: 'New',
  };
  const facts = { takesSeveralUsers: true };
  const claims = { isEmailVerified: true, role: null, teams: [], joinByEmail: false };
  const id = await change({ ...context, facts }, null, joinIdentity, { ...joined, ...claims });
  await change(context, null, leaveGroups, { id, issuer: joined.issuer, role: 'AUDITOR' });
  const model = await pinModel(pool, { source: 'HUB', name: 'org/m', commit: 'c', files: [] });
  const room = { budgetBytes: 1_000, usedBytes: 0, stuckBytes: 0 };
  await writeMachineState(pool, { stored: [], fetching: [], room });
  const wanted = { model: { ...model, bytes: 0, tokenSecret: null }, isKept: false };
  await change(context, actor, fetchMachineModel, wanted);
  await change(context, null, updateMachineModel, { id: model.id, isKept: true });
  await change(context, null, removeMachineModel, { id: model.id });
  const credentials = { username: CANARY, password: CANARY };
  await change(context, actor, updateRegistry, { id: registry as RegistryId, change: credentials });
  await change(context, actor, changeClusterRegistry, { id: cluster.id, registryId: registry });
  const followed = { id: template as TemplateId, update: { env: { A: CANARY } }, checkEndpoint: () => {} };
  await change(context, actor, updateFollowedTemplate, followed);
  await pool.query('update templates set is_public = true where id = $1', [template]);
  await change(context, null, markTemplate, { id: template as TemplateId, mark: 'VERIFIED' });
  await as('DELETE', `clusters/${cluster.id}`);
  await as('DELETE', `templates/${template}`);
  await as('DELETE', `registries/${registry}`);
}

/** An invitation, a password and a passkey of the actor's own. */
async function useLocalAccount(context: Context, actor: Actor): Promise<void> {
  const id = actor.userId;
  const { secret } = await change(context, null, createInvitation, { id, hours: 1 });
  await change(context, systemActor(id), acceptInvitation, { id, secret, passwordHash: CANARY });
  await change(context, actor, changePassword, { id, sessionId: 's' as SessionId, passwordHash: CANARY });
  const key = { credentialId: CANARY, publicKey: Buffer.from(CANARY), counter: 0, transports: [] };
  const passkey = await change(context, actor, createPasskey, { userId: id, key: { ...key, name: 'laptop' } });
  await change(context, actor, renamePasskey, { userId: id, id: passkey, name: 'phone' });
  await change(context, actor, removePasskey, { userId: id, id: passkey });
  await change(context, null, removePassword, { id });
}

test('every operation has a record that its entries show', async () => {
  const kinds = new Set((await listOperations()).map((name) => name.slice(0, name.indexOf('.'))));
  expect([...kinds].filter((kind) => !(kind in AUDITED_RECORDS) && !NOT_SHOWN.includes(kind))).toEqual([]);
});

test('every operation writes an entry, and no secret, credential, token or value of env is in any', {
  timeout: 60_000,
}, async () => {
  await callEverything(admin);
  const { rows } = await rest.database.pool.query<{ operation: string }>(
    'select distinct operation from audit_entries',
  );
  const written = new Set(rows.map(({ operation }) => operation));
  const missing = (await listOperations()).filter((name) => !written.has(name) && !NOT_CALLED.includes(name));
  expect(missing).toEqual([]);
  const leaked = await rest.database.pool.query(
    `select operation, changes from audit_entries a where a::text ~ '${CANARY}|own value|own password|py[a-z]+_[A-Za-z0-9]'`,
  );
  expect(leaked.rows).toEqual([]);
});
