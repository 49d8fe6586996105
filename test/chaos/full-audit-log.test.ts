/** The disk of the audit log is full: nothing is changed without its entry (docs/interface/audit.md, "Entries"). */
import { execFileSync } from 'node:child_process';
import { chown, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { run } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';

/** Mounting needs root. */
const isRoot = process.getuid!() === 0;
const DETAIL = "The database's disk is full; nothing was stored.";

let server: ServerProcess;
let api: Api;
let disk: string;

beforeAll(async () => {
  if (!isRoot) return;
  server = await ServerProcess.start({ runtime: 'simulated' });
  api = new Api(server);
  disk = await mkdtemp(join(tmpdir(), 'podyard-audit-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', disk]);
});
afterAll(async () => {
  if (!isRoot) return;
  await server.dispose();
  execFileSync('umount', [disk]);
  await rm(disk, { recursive: true });
});

/** Moves the log to a disk of its own, and fills both, the disk and the last page. */
async function fillLog(): Promise<void> {
  const [{ data_directory: data }] = (await server.query('show data_directory')) as [{ data_directory: string }];
  const { uid, gid } = await stat(data);
  await chown(disk, uid, gid);
  await server.query(`create tablespace audit_disk location '${disk}'`);
  await server.query('alter table audit_entries set tablespace audit_disk');
  const { bavail, bsize } = await statfs(disk);
  await writeFile(join(disk, 'filler'), Buffer.alloc(bavail * bsize));
  const insert = `insert into audit_entries (operation, actor_kind, interface, outcome) values ('x.y', 'system', 'test', 'done')`;
  for (let isFull = false; !isFull; ) {
    isFull = await server.query(insert).then(
      () => false,
      (error: { code?: string }) => {
        if (error.code === '53100') return true;
        throw error;
      },
    );
  }
}

const send = (method: string, path: string, body?: object) =>
  fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${server.key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
const rowsOf = async (text: string) => (await server.query(text)).length;

test.skipIf(!isRoot)(
  'a change whose entry cannot be written is refused and not made; jobs and reads go on',
  async () => {
    const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const { id: keyId } = await api.call<{ id: string }>('POST', '/v2/account/api-keys', {
      name: 'k',
      scopes: ['invoke'],
    });
    const before = await api.call('GET', `/v2/serverless/${endpoint}`);
    const users = await rowsOf('select from users');
    await fillLog();

    const changes: [string, string, object?][] = [
      ['PATCH', `/v2/serverless/${endpoint}`, { workers: { max: 7 } }],
      ['PATCH', `/v2/serverless/${endpoint}`, { image: 'another:1' }],
      ['DELETE', `/v2/serverless/${endpoint}`],
      ['DELETE', `/v2/account/api-keys/${keyId}`],
      ['POST', '/v2/account/users', { name: 'eva' }],
      ['POST', '/sign-in/key'],
    ];
    for (const [method, path, body] of changes) {
      const answer = await send(method, path, body);
      const { detail } = (await answer.json()) as { detail: string };
      expect([method, path, answer.status, detail]).toEqual([method, path, 503, DETAIL]);
    }
    const graphql = await send('POST', '/graphql', {
      query: `mutation { saveEndpoint(input: { id: "${endpoint}", name: "other", gpuIds: "ADA_24", workersMax: 5 }) { id } }`,
    });
    expect(graphql.status).toBe(503);
    expect(await api.call('GET', `/v2/serverless/${endpoint}`)).toEqual(before);
    expect(await rowsOf('select from sessions')).toBe(0);
    expect(await rowsOf('select from users')).toBe(users);
    expect(await rowsOf(`select from api_keys where id = '${keyId}' and revoked_at is null`)).toBe(1);
    expect((await api.run(endpoint, {})).status).toBe('IN_QUEUE');

    await rm(join(disk, 'filler'));
    await api.call('PATCH', `/v2/serverless/${endpoint}`, { workers: { max: 7 } });
    const { entries } = await api.call<{ entries: { operation: string }[] }>('GET', `/v2/audit?recordId=${endpoint}`);
    expect(entries.map(({ operation }) => operation)).toEqual(['endpoint.update', 'endpoint.create']);
    expect(await run(['audit', 'verify', '--data-dir', server.dataDir])).toMatch(
      /^\d+ entries are as they were written;/,
    );
  },
);
