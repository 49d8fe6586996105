import { expect, test } from 'vitest';
import type { EndpointId } from '../../core/ids.ts';
import { baseUrl } from './endpoint-wire.ts';

test.each([
  ['http://127.0.0.1:8080', null, 'http://abc.localhost:8080'],
  ['http://localhost:8080', null, 'http://abc.localhost:8080'],
  ['http://[::1]:8080', null, 'http://abc.localhost:8080'],
  ['http://localhost', null, 'http://abc.localhost'],
  ['http://localhost:8080/2026-08', null, 'http://abc.localhost:8080'],
  ['http://192.168.1.5:8080', null, 'http://192.168.1.5:8080/v2/abc/lb'],
  ['http://192.168.1.5:8080/2026-08', null, 'http://192.168.1.5:8080/2026-08/v2/abc/lb'],
  ['https://podyard.example.com', null, 'https://podyard.example.com/v2/abc/lb'],
  ['https://podyard.example.com', 'run.example.com', 'https://abc.run.example.com'],
  ['http://127.0.0.1:8080', 'run.example.com:8080', 'http://abc.run.example.com:8080'],
])('reached at %s with --lb-host %s, the base URL is one that works: %s', (publicUrl, lbHost, url) => {
  expect(baseUrl('abc' as EndpointId, { publicUrl, lbHost })).toBe(url);
});
