/** docs/interface/rest.md, "Errors": every error is a problem record, those of the HTTP parser included. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
});
afterAll(() => plane.close());

async function send(raw: string): Promise<{ head: string; body: unknown }> {
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(raw);
  const [head, body] = (await text(socket)).split('\r\n\r\n');
  return { head: head!, body: JSON.parse(body!) };
}

test('headers over 16 KiB are rejected with a problem record, status 431', async () => {
  const { head, body } = await send(`GET /v2/serverless HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(20_000)}\r\n\r\n`);
  expect(head).toMatch(/^HTTP\/1\.1 431 .*content-type: application\/problem\+json.*x-request-id: /is);
  expect(body).toMatchObject({ status: 431, title: 'Request Header Fields Too Large' });
});

test('requests that are not HTTP are rejected with a problem record, status 400', async () => {
  const { head, body } = await send(
    'GET /v2/serverless HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  );
  expect(head).toMatch(/^HTTP\/1\.1 400 .*content-type: application\/problem\+json/is);
  expect(body).toEqual({ title: 'Bad Request', status: 400, detail: 'The request is not valid HTTP.' });
});
