import { describe, expect, it } from 'vitest';
import { type HostNames, parseHost } from './find-handler.ts';

const NAMES: HostNames = { proxyHost: 'pods.example.com', lbHost: 'lb.example.com', apiHost: 'api.example.com' };
const LOCAL: HostNames = { proxyHost: 'localhost', lbHost: 'localhost', apiHost: null };

describe('the target of a request', () => {
  it.each([
    ['abc123-8888.pods.example.com', { kind: 'pod', podId: 'abc123', port: 8888 }],
    ['abc123-8888.pods.example.com:8080', { kind: 'pod', podId: 'abc123', port: 8888 }],
    ['ABC123-8888.Pods.EXAMPLE.com', { kind: 'pod', podId: 'abc123', port: 8888 }],
    ['abc123-8888.pods.example.com.', { kind: 'pod', podId: 'abc123', port: 8888 }],
    ['abc123-8888.pods.example.com.:443', { kind: 'pod', podId: 'abc123', port: 8888 }],
    ['abc123.lb.example.com', { kind: 'endpoint', endpointId: 'abc123' }],
    ['api.example.com', { kind: 'api' }],
    ['127.0.0.1:8080', { kind: 'api' }],
    ['[::1]:8080', { kind: 'api' }],
    ['', { kind: 'api' }],
    ['pods.example.com', { kind: 'api' }],
    ['evilpods.example.com', { kind: 'api' }],
    ['abc123-80.pods.example.com..', { kind: 'api' }],
  ])('%s', (host, target) => {
    expect(parseHost(host, NAMES)).toEqual(target);
  });

  it.each([
    ['abc123.pods.example.com', 'a pod without a port'],
    ['abc123-0.pods.example.com', 'port 0'],
    ['abc123-080.pods.example.com', 'a port with a leading zero'],
    ['abc123-65536.pods.example.com', 'a port out of range'],
    ['abc123-80-81.pods.example.com', 'two ports'],
    ['a.abc123-80.pods.example.com', 'a name below a pod'],
    ['abc123-80.x.pods.example.com', 'a label in between'],
    ['abc123-80..pods.example.com', 'an empty label'],
    ['.pods.example.com', 'no label'],
    ['abc_123-80.pods.example.com', 'a character not allowed in ids'],
    ['abc123-80@pods.example.com.pods.example.com', 'a user'],
    ['abc123-80.lb.example.com', 'a pod below the endpoints’ name'],
  ])('%s is unknown: %s', (host) => {
    expect(parseHost(host, NAMES)).toEqual({ kind: 'unknown' });
  });

  it('distinguishes pods and endpoints below one name', () => {
    expect(parseHost('abc-80.localhost:8080', LOCAL)).toEqual({ kind: 'pod', podId: 'abc', port: 80 });
    expect(parseHost('abc.localhost:8080', LOCAL)).toEqual({ kind: 'endpoint', endpointId: 'abc' });
    expect(parseHost('localhost:8080', LOCAL)).toEqual({ kind: 'api' });
  });

  it('is the API for its own name, also below one of the others', () => {
    const names = { proxyHost: 'example.com', lbHost: 'example.com', apiHost: 'api.example.com' };
    expect(parseHost('api.example.com', names)).toEqual({ kind: 'api' });
    expect(parseHost('API.example.com.:443', names)).toEqual({ kind: 'api' });
  });
});
