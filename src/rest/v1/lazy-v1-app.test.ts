import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { silentLogger } from '../../core/logger.ts';
import { Metrics } from '../../core/metrics.ts';
import type { RestDeps } from '../shared/rest-app.ts';
import { isV1Path, lazyV1App, refuseV1 } from './lazy-v1-app.ts';

/** docs/interface/rest-v1.md, "Switching it on" */

async function ask(listener: RequestListener, path: string): Promise<Response> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('only paths under /v1 are for it', () => {
  expect(['/v1', '/v1/pods', '/v1/pods?x=1', '/v1?x=1'].every(isV1Path)).toBe(true);
  expect(['/v2/pods', '/v10/pods', '/openai/v1/models', '/2026-08/v1/pods', '/'].some(isV1Path)).toBe(false);
});

test('while it is off, a path is a 404 that names the flag, in the shape that clients read', async () => {
  const response = await ask(refuseV1, '/v1/pods');
  expect(response.status).toBe(404);
  expect(response.headers.get('content-type')).toBe('application/json');
  const { error, message, status } = (await response.json()) as Record<string, string>;
  expect(error).toContain('--rest-v1');
  expect([message, status]).toEqual([error, 404]);
});

test('it is built at the first request', async () => {
  const deps = { logger: silentLogger, metrics: new Metrics({ maxEndpoints: 1 }), publicUrlFor: () => 'http://here' };
  const app = lazyV1App(deps as unknown as RestDeps); // the description needs no more
  const response = await ask((req, res) => app.handle(req, res), '/v1/openapi.json');
  expect(((await response.json()) as { servers: object[] }).servers).toEqual([{ url: 'http://here' }]);
  await app.close();
});
