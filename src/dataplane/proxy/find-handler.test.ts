import { expect, test } from 'vitest';
import type { ClientExchange } from '../wire/client-exchange.ts';
import { findHandler, type HostTarget } from './find-handler.ts';

/** Who serves a request, and the path that the upstream sees. */
function handlerOf(host: HostTarget, target: string): string | null {
  let found = '';
  const handler = findHandler(host, target, (path) => path.startsWith('/v2/e1/'), {
    pod: (_, id, port) => {
      found = `pod ${id}:${port}`;
    },
    endpoint: (_, id, path) => {
      found = `endpoint ${id} ${path}`;
    },
    terminal: () => {
      found = 'terminal';
    },
  });
  handler?.({} as ClientExchange);
  return handler && found;
}

const API: HostTarget = { kind: 'api' };

test.each([
  ['/v2/e1/lb/a?b=1', 'endpoint e1 /a?b=1'],
  ['/v2/e1/lb', 'endpoint e1 /'],
  ['/2026-08/v2/e1/lb/a', 'endpoint e1 /a'],
  ['/2026-07/v2/e1/lb?x', 'endpoint e1 /?x'],
  ['/v2/e1/lb/2026-08/v2/x', 'endpoint e1 /2026-08/v2/x'],
  ['/v2/account/terminals/connect', 'terminal'],
  ['/2026-08/v2/account/terminals/connect', 'terminal'],
  ['/v2/account/terminals', null],
  ['/2025-01/v2/e1/lb/a', null],
  ['/v2/e1/run', null],
  ['/2026-08/v2/pods', null],
])('on the API’s own host, %s is for %s', (target, handler) => {
  expect(handlerOf(API, target)).toBe(handler);
});

test('on the host of a pod or an endpoint, a path that begins like a revision is its own', () => {
  const path = '/2026-08/v2/e1/lb/a';
  expect(handlerOf({ kind: 'pod', podId: 'p1', port: 80 }, path)).toBe('pod p1:80');
  expect(handlerOf({ kind: 'endpoint', endpointId: 'e2' }, path)).toBe(`endpoint e2 ${path}`);
});
