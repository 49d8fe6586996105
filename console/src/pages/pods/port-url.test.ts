import { expect, test } from 'vitest';
import { portUrl } from './port-url.ts';

test("a port has its own name under the host, without the console's path", () => {
  expect(portUrl('https://cloud.example.com/podyard', 'p1', '8888')).toBe('https://p1-8888.cloud.example.com/');
});

test('a loopback address becomes a name below localhost', () => {
  expect(portUrl('http://127.0.0.1:8080', 'p1', '80')).toBe('http://p1-80.localhost:8080/');
  expect(portUrl('http://[::1]:8080', 'p1', '80')).toBe('http://p1-80.localhost:8080/');
});
