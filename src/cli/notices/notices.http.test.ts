import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import { runCli } from '../run-cli.ts';

let rest: RestFixture;
let server: Server;
let url: string;
let hookStatus = 200;
beforeAll(async () => {
  rest = await startRestApp({ allowPrivateWebhooks: true });
  server = createServer((request, response) =>
    request.url === '/hook' ? response.writeHead(hookStatus).end() : rest.handle(request, response),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rest.close();
});

async function podyard(args: string[], input = '') {
  const out: string[] = [];
  const err: string[] = [];
  const env = { PODYARD_URL: url, PODYARD_API_KEY: rest.alice.key, HOME: '/nonexistent' };
  const terminal = testTerminal({ env, input });
  const pieces = {
    terminal,
    print: (text: string) => void out.push(text),
    note: (text: string) => void err.push(text),
  };
  const status = await runCli(pieces as never, ['notices', ...args]);
  return { status, out: out.join('\n'), err: err.join('\n') };
}

test('a destination is added with its URL from stdin, listed, tested, changed and removed', async () => {
  expect((await podyard([])).err).toContain('podyard notices add');
  const made = await podyard(['add', 'chat', '--event', 'budget', 'key-expires'], `${url}/hook\n`);
  expect(made).toMatchObject({ status: 0, out: expect.stringMatching(/^pyn_/) });
  expect((await podyard([])).out).toMatch(/chat +webhook +127\.0\.0\.1:\d+ +ok +- +0 +budget key-expires/);
  expect(await podyard(['test', 'chat'])).toMatchObject({ status: 0, err: 'chat accepted the test.' });
  hookStatus = 500;
  const failed = await podyard(['test', 'chat']);
  expect(failed).toMatchObject({ status: 1, err: expect.stringContaining('it was answered with status 500') });
  expect((await podyard(['deliveries', 'chat'])).out).toMatch(
    /given-up +1 +test +it was answered[^\n]*\n.*sent +1 +test/,
  );
  const changed = await podyard(['update', 'chat', '--name', 'room', '--wait-minutes', '30', '--disable', '--json']);
  expect(JSON.parse(changed.out)).toMatchObject({ name: 'room', waitMinutes: 30, enabled: false });
  expect(await podyard(['update', 'room', '--url'], 'ftp://x\n')).toMatchObject({
    err: expect.stringContaining('url:'),
  });
  expect(await podyard(['test', 'nothing'])).toMatchObject({ err: expect.stringContaining('--installation') });
  expect(await podyard(['list', '--installation'])).toMatchObject({ status: 3 });
  expect(await podyard(['remove', 'room', '--yes'])).toMatchObject({ status: 0 });
  expect((await podyard(['--json'])).out).toBe('[]');
});

test('an email needs no URL, and this server says that it sends no mail', async () => {
  const { status, err } = await podyard(['add', 'me', '--email', 'me@example.com']);
  expect({ status, err }).toEqual({ status: 5, err: expect.stringContaining('--mail') });
});
