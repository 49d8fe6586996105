import { expect, test } from 'vitest';
import { endpointUrls, servesModels } from './endpoint-urls.ts';
import type { Endpoint } from './settings/endpoint-values.ts';

const SERVER = 'https://podyard.example';
const endpoint = (more: object) => ({ id: 'e1', name: 'chat', ...more }) as Endpoint;

test('a queue has the URL of its jobs, and one for models if it serves any', () => {
  const queue = endpoint({ type: 'QUEUE', requestUrls: { run: 'x', runSync: 'y' } });
  expect(endpointUrls(SERVER, queue, false)).toEqual([{ what: 'queue URL', url: `${SERVER}/v2/e1` }]);
  expect(endpointUrls(SERVER, queue, true)[1]).toEqual({
    what: 'OpenAI base URL',
    url: `${SERVER}/v2/e1/openai/v1`,
  });
});

test('a load balancer has its own URL', () => {
  const balanced = endpoint({ type: 'LOAD_BALANCER', requestUrls: { base: 'https://e1.lb.example' } });
  expect(endpointUrls(SERVER, balanced, true)).toEqual([
    { what: 'load-balancing URL', url: 'https://e1.lb.example' },
    { what: 'OpenAI base URL', url: 'https://e1.lb.example/v1' },
  ]);
});

test('an endpoint serves models if one beside its own name is listed for it', () => {
  const own = { id: 'chat', owned_by: 'chat' };
  expect(servesModels([own, { id: 'llama', owned_by: 'other' }], { id: 'e1', name: 'chat' })).toBe(false);
  expect(servesModels([own, { id: 'llama', owned_by: 'chat' }], { id: 'e1', name: 'chat' })).toBe(true);
});
