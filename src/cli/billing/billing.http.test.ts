import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import { runCli } from '../run-cli.ts';

let rest: RestFixture;
let server: Server;
let url: string;
beforeAll(async () => {
  rest = await startRestApp();
  server = createServer((request, response) => rest.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});
beforeEach(async () => {
  for (const table of ['budgets', 'usage_days', 'endpoints']) await rest.database.pool.query(`delete from ${table}`);
});

/** Runs one command line. `written` is what was streamed to stdout. */
async function podyard(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = testTerminal({ env: { PODYARD_URL: url, PODYARD_API_KEY: rest.alice.key, HOME: '/nonexistent' } });
  const pieces = {
    terminal,
    print: (text: string) => void out.push(text),
    note: (text: string) => void err.push(text),
  };
  const status = await runCli(pieces as never, args);
  return { status, out: out.join('\n'), err: err.join('\n'), written: terminal.written.join('') };
}

const spend = (id: string, name: string, gpu: string, day = '2026-03-02') =>
  rest.database.pool.query(`insert into usage_days values ($1, $2, 'SERVERLESS', $3, $4, 3600, 0, 0, $5, 0, 0.5)`, [
    rest.alice.userId,
    day,
    id,
    name,
    gpu,
  ]);
const MARCH = ['--from', '2026-03-01', '--to', '2026-03-31'];

test('billing by endpoint is a table with shares and a total, and the forecast says that there is none', async () => {
  await spend('e1', 'llm', '2.5');
  await spend('e2', 'tiny', '0.5', '2026-03-31');
  await spend('e3', 'late', '9', '2026-04-01');
  const { status, out, err } = await podyard('billing', '--by', 'endpoint', ...MARCH);
  expect(status).toBe(0);
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['ID', 'NAME', 'GPU', 'CPU', 'STORAGE', 'USD', 'SHARE'],
    ['e1', 'llm (deleted)', '2.5000', '0.0000', '0.5000', '3.0000', '75.0 %'],
    ['e2', 'tiny (deleted)', '0.5000', '0.0000', '0.5000', '1.0000', '25.0 %'],
  ]);
  expect(err).toMatch(/^Total: 4\.00 USD\.\n\d{4}-\d\d: 0\.00 USD so far/);
  expect(JSON.parse((await podyard('billing', '--by', 'product', '--json', ...MARCH)).out)).toMatchObject({
    total: '4',
  });
  expect((await podyard('billing', '--by', 'hour', '--last', '3')).status).toBe(0);
  expect((await podyard('billing', ...MARCH)).status).toBe(0);
});

test('billing --csv is the export, of the kind that --by names', async () => {
  await spend('e1', '=cmd()', '2.5');
  const { status, written } = await podyard('billing', '--csv', ...MARCH);
  expect(status).toBe(0);
  expect(written.split('\r\n')).toEqual([
    expect.stringMatching(/^day_utc,.*,total_usd$/),
    `2026-03-02,${rest.alice.userId},alice,SERVERLESS,e1,'=cmd(),3600,0,0,2.5,0,0.5,3`,
    '',
  ]);
  expect((await podyard('billing', '--csv', '--by', 'pod', ...MARCH)).written.split('\r\n')).toHaveLength(2);
});

test.each([
  [['billing', '--by', 'moon'], 2],
  [['billing', '--from', 'monday'], 2],
  [['billing', '--from', '2026-02-31x'], 2],
  [['billing', '--last', '3', '--to', '2026-03-01'], 2],
  [['billing', '--csv', '--json'], 2],
  [['billing', '--csv', '--by', 'hour'], 2],
  [['billing', '--last', '0'], 2],
  [['billing', '--by', 'user', '--user', 'all'], 3],
  [['budgets', 'set', 'much'], 2],
  [['budgets', 'set', '5', '--action', 'explode'], 2],
  [['budgets', 'set', '5', '--notify-at', 'half'], 2],
  [['budgets', 'set', '5', '--endpoint', 'nosuch'], 4],
  [['budgets', 'set', '5', '--webhook', 'ftp://x'], 5],
  [['budgets', 'remove', 'account'], 2],
  [['budgets', 'remove', 'account', '--yes'], 4],
])('%j exits with %i', async (args, status) => {
  expect((await podyard(...args)).status).toBe(status);
});

test('budgets are set, changed in place, listed and removed, by the name of the endpoint', async () => {
  const body = { name: 'llm', image: 'any:v1', gpu: { pools: ['ADA_24'] } };
  await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body });
  expect((await podyard('budgets')).err).toMatch(/^No budgets/);
  const first = JSON.parse((await podyard('budgets', 'set', '12.50', '--notify-at', '50', '80%', '--json')).out);
  expect(first).toMatchObject({ amount: '12.5', action: 'NOTIFY', notifyAt: [50, 80], endpointId: null });
  const hook = ['--webhook', 'https://example.com/b'];
  const changed = JSON.parse((await podyard('budgets', 'set', '20', '--action', 'stop', ...hook, '--json')).out);
  expect(changed).toMatchObject({ id: first.id, amount: '20', action: 'STOP', notifyAt: [50, 80], webhook: hook[1] });
  expect(JSON.parse((await podyard('budgets', 'set', '20', '--webhook', 'none', '--json')).out).webhook).toBeNull();
  await podyard('budgets', 'set', '0', '--endpoint', 'llm', '--action', 'stop');
  const { out } = await podyard('budgets', 'list');
  const cells = out.split('\n').map((line) => line.trim().split(/ {2,}/).slice(1));
  expect(cells).toEqual([
    ['OF', 'USER', 'USD/MONTH', 'SPENT', 'USED', 'ACTION', 'NOTIFIES AT', 'SET BY', 'STATE'],
    ['account', 'alice', '20.00', '0.00', '0.0 %', 'stop', '50 %, 80 %', 'user', 'ok'],
    ['endpoint llm', 'alice', '0.00', '0.00', '-', 'stop', '80 %, 100 %', 'user', 'STOPPED: used up'],
  ]);
  expect((await podyard('budgets', 'remove', 'llm', '--yes')).err).toBe('The budget of llm is removed.');
  expect((await podyard('budgets', 'remove', 'account', '--yes')).status).toBe(0);
  expect((await podyard('budgets', 'list')).err).toMatch(/^No budgets/);
});
