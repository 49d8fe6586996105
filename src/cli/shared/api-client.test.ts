import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiClient } from './api-client.ts';

/** The server's answer to one request for a stream. */
type Answer = (response: ServerResponse) => void;

let server: Server;
let client: ApiClient;
let answers: Answer[];
let asked: IncomingHttpHeaders[];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.headers);
    (answers.shift() ?? refuse(404))(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new ApiClient({ url, key: 'a' }, { env: {}, interrupted: new AbortController().signal });
});
beforeEach(() => {
  asked = [];
});
afterAll(() => server.close());

const refuse =
  (status: number): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"detail":"no"}');
const denies: Answer = (response) =>
  response.writeHead(403, { 'content-type': 'application/json' }).end('{"detail":"access denied"}');
const ends =
  (text: string): Answer =>
  (response) =>
    response.end(text);
const breaks =
  (text: string): Answer =>
  (response) =>
    response.write(text, () => response.destroy());

async function read(): Promise<string[]> {
  const events: string[] = [];
  for await (const data of client.events('/stream')) events.push(data);
  return events;
}

describe('a stream of events', () => {
  test('goes on behind the last event when its connection breaks', async () => {
    answers = [breaks('id: 1\ndata: a\n\nid: 2\ndata: b\n\n'), breaks('id: 3\ndata: c\n\n')];
    expect(await read()).toEqual(['a', 'b', 'c']);
    expect(asked.map((headers) => headers['last-event-id'])).toEqual([undefined, '2', '3']);
  });

  test('goes on when its server ends it to restart, and while nothing serves behind a proxy', async () => {
    answers = [ends('data: a\n\n'), refuse(502), refuse(503), ends('data: b\n\n')];
    expect(await read()).toEqual(['a', 'b']);
  });

  test('ends when what it is about is gone', async () => {
    answers = [ends('data: a\n\n'), refuse(404)];
    expect(await read()).toEqual(['a']);
  });

  test('fails when the key is refused meanwhile', async () => {
    answers = [ends('data: a\n\n'), refuse(401)];
    await expect(read()).rejects.toMatchObject({ status: 401 });
  });

  test('fails at once when it cannot begin', async () => {
    answers = [refuse(404)];
    await expect(read()).rejects.toMatchObject({ status: 404 });
    answers = [refuse(503)];
    await expect(read()).rejects.toMatchObject({ status: 503 });
    expect(asked).toHaveLength(2);
  });
});

test('of a request that no scope of the key covers, it says which', async () => {
  answers = [denies];
  await expect(client.send('POST', '/v2/builds?a=b')).rejects.toThrow(
    'access denied: no scope of your key covers POST /v2/builds. `podyard keys create --scope` makes one that may, where your role allows it',
  );
});
