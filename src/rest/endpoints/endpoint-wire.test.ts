import { expect, test } from 'vitest';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { toEndpointResponse } from './endpoint-wire.ts';

const base = (publicUrl: string, lbHost: string | null) =>
  toEndpointResponse(
    {
      id: 'abc' as EndpointId,
      userId: 'u' as UserId,
      name: 'web',
      type: 'LOAD_BALANCING',
      image: 'web:1',
      args: '',
      diskGb: 20,
      ports: [],
      env: {},
      registryId: null,
      gpu: null,
      cpu: null,
      workers: { min: 0, max: 1 },
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 5 },
      dataCenterIds: [],
      networkVolumeIds: [],
      timeoutMs: 0,
      flashboot: 'OFF',
      templateId: null,
      version: 1,
      createdAt: new Date(0),
      modelReferences: [],
    },
    { publicUrl, lbHost },
  ).requestUrls;

test.each([
  ['http://127.0.0.1:8080', null, 'http://abc.localhost:8080'],
  ['http://localhost:8080', null, 'http://abc.localhost:8080'],
  ['http://[::1]:8080', null, 'http://abc.localhost:8080'],
  ['http://localhost', null, 'http://abc.localhost'],
  ['http://192.168.1.5:8080', null, 'http://192.168.1.5:8080/v2/abc/lb'],
  ['https://podyard.example.com', null, 'https://podyard.example.com/v2/abc/lb'],
  ['https://podyard.example.com', 'run.example.com', 'https://abc.run.example.com'],
  ['http://127.0.0.1:8080', 'run.example.com:8080', 'http://abc.run.example.com:8080'],
])('reached at %s with --lb-host %s, the base URL is one that works: %s', (publicUrl, lbHost, url) => {
  expect(base(publicUrl, lbHost)).toEqual({ base: url });
});
