import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import { ChainSealer } from '../../domain/audit/chain.ts';
import { runCli } from '../run-cli.ts';

let rest: RestFixture;
let server: Server;
let url: string;
let endpoint: string;
beforeAll(async () => {
  rest = await startRestApp();
  server = createServer((request, response) => rest.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = { name: 'transcriber', image: 'a/b:1', gpu: { pools: ['ADA_24'] } };
  endpoint = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  await rest.call('PATCH', `/v2/serverless/${endpoint}`, { key: rest.alice.key, body: { workers: { max: 5 } } });
  await rest.call('PATCH', `/v2/serverless/${endpoint}`, { key: rest.bob.key, body: { name: 'mine' } });
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

async function podyard(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = testTerminal({ env: { PODYARD_URL: url, PODYARD_API_KEY: rest.alice.key, HOME: '/nonexistent' } });
  const pieces = {
    terminal,
    print: (text: string) => void out.push(text),
    note: (text: string) => void err.push(text),
    storage: () => ({ dataDir: '/nowhere', databaseUrl: 'postgres://named' }),
    withDatabase: (_flags: object, work: (context: object) => unknown) => work({ pool: rest.database.pool }),
  };
  const status = await runCli(pieces as never, args);
  return { status, out: out.join('\n'), err: err.join('\n'), written: terminal.written.join('') };
}

test('the list is a table of one’s own records, newest first', async () => {
  const { status, out } = await podyard('audit', '--operation', 'endpoint');
  expect(status).toBe(0);
  const [head, ...rows] = out.split('\n');
  expect(head).toMatch(/^TIME +WHO +FROM +OPERATION +RECORD +OUTCOME +WHAT$/);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toMatch(/ alice \(test\) +rest 127\.0\.0\.1 +endpoint\.update +transcriber +done +workers$/);
  expect(JSON.parse((await podyard('audit', '--record', endpoint, '--limit', '1', '--json')).out)).toMatchObject([
    { operation: 'endpoint.update', changes: { workers: [{ max: 3 }, { max: 5 }] } },
  ]);
});

test('filters and their mistakes are explained', async () => {
  expect(await podyard('audit', '--since', 'yesterday')).toMatchObject({
    status: 2,
    err: expect.stringContaining('--since is'),
  });
  expect((await podyard('audit', '--outcome', 'failed')).err).toContain('No entry matches');
  expect((await podyard('audit', '--user', 'all')).status).not.toBe(0); // Alice is not an admin
});

test('the export is JSON lines, oldest first', async () => {
  const { status, written } = await podyard('audit', 'export', '--operation', 'endpoint');
  expect(status).toBe(0);
  const lines = written
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ operation }) => operation)).toEqual(['endpoint.create', 'endpoint.update']);
});

test('verify prints the head, and names what was changed', async () => {
  await new ChainSealer(rest.database.pool).sealNext();
  const report = JSON.parse((await podyard('audit', 'verify', '--json')).out);
  expect(report).toMatchObject({ unsealed: 0, faults: [], head: expect.any(String) });
  const whole = await podyard('audit', 'verify');
  expect(whole).toMatchObject({ status: 0, out: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(whole.err).toMatch(/^\d+ entries are as they were written; 0 are too new/);
  expect((await podyard('audit', 'verify', '--head', whole.out)).status).toBe(0);
  const other = await podyard('audit', 'verify', '--head', 'a'.repeat(64));
  expect([other.status, other.err]).toEqual([1, expect.stringContaining('no link has the hash')]);
  expect((await podyard('audit', 'verify', '--head', 'x')).status).toBe(2);
  await rest.database.pool.query(`alter table audit_entries disable trigger append_only;
    update audit_entries set actor_id = 'x' where operation = 'endpoint.update' and outcome = 'done';
    alter table audit_entries enable trigger append_only`);
  const changed = await podyard('audit', 'verify');
  expect([changed.status, changed.err]).toEqual([
    1,
    expect.stringMatching(/^Entry \d+: it was changed\.\npodyard: the audit log is not/),
  ]);
});
