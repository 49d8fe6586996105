/** docs/guide/security.md, "Floods": no work is done for a client that is gone. */
import { type ClientRequest, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

beforeAll(async () => {
  const read = async () => {
    reads += 1;
    if (reads === AT_ONCE) reached.resolve();
    await gate.promise;
    return free;
  };
  rest = await startRestApp({ capacity: { read } });
  url = await rest.listenToGraphql();
});
afterAll(() => rest.close());

function send(query: string): ClientRequest {
  const headers = { authorization: `Bearer ${rest.alice.key}`, 'content-type': 'application/json' };
  const sent = request(`${url}/graphql`, { method: 'POST', headers, agent: false });
  sent.on('error', () => {});
  return sent.end(JSON.stringify({ query }));
}

test('a query that waits is not begun once its client is gone, and the next one is answered', async () => {
  const waiting = Array.from({ length: 3 * AT_ONCE }, () => send('{ dataCenters { gpuAvailability { available } } }'));
  await reached.promise;
  const closed = waiting.map((one) => new Promise((resolve) => one.once('close', resolve)));
  for (const one of waiting) one.destroy();
  await Promise.all(closed);
  await rest.graphql('{ myself { id } }', { key: rest.bob.key }); // the server has seen them close
  gate.resolve();
  const answer = await new Promise<number | undefined>((resolve) =>
    send('{ myself { id } }').once('response', (response) => resolve(response.resume().statusCode)),
  );
  expect(answer).toBe(200);
  expect(reads).toBe(AT_ONCE);
});
