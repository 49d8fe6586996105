/** docs/guide/security.md, "Floods": no work is done for a client that is gone. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

/** Queries of one user that run at once. */
const AT_ONCE = 4;

let rest: RestFixture;
let url: string;
/** How often a query has asked for what is free; while `gate` is closed they wait there. */
let reads = 0;
const gate = Promise.withResolvers<void>();
const reached = Promise.withResolvers<void>();
const free = { gpus: [], cpus: 0, memoryBytes: 0 };
/** The server's side of each request. */
const served: Socket[] = [];
const REQUESTS = 'http.server.request.start';
const onRequest = (message: unknown) => served.push((message as { socket: Socket }).socket);

beforeAll(async () => {
  subscribe(REQUESTS, onRequest);
  const read = async () => {
    reads += 1;
    if (reads === AT_ONCE) reached.resolve();
    await gate.promise;
    return free;
  };
  rest = await startRestApp({ capacity: { read } });
  url = await rest.listenToGraphql();
});
afterAll(() => {
  unsubscribe(REQUESTS, onRequest);
  return rest.close();
});

function send(query: string): ClientRequest {
  const headers = { authorization: `Bearer ${rest.alice.key}`, 'content-type': 'application/json' };
  const sent = request(`${url}/graphql`, { method: 'POST', headers, agent: false });
  sent.on('error', () => {});
  return sent.end(JSON.stringify({ query }));
}

test('a query that waits is not begun once its client is gone, and the next one is answered', async () => {
  const waiting = Array.from({ length: 3 * AT_ONCE }, () => send('{ dataCenters { gpuAvailability { available } } }'));
  await reached.promise;
  await vi.waitFor(() => expect(served).toHaveLength(waiting.length));
  const closed = served.map((socket) => once(socket, 'close'));
  for (const one of waiting) one.destroy();
  await Promise.all(closed);
  gate.resolve();
  const answer = await new Promise<number | undefined>((resolve) =>
    send('{ myself { id } }').once('response', (response) => resolve(response.resume().statusCode)),
  );
  expect(answer).toBe(200);
  expect(reads).toBe(AT_ONCE);
});
