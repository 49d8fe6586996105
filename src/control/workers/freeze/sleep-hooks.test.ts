import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerId } from '../../../core/ids.ts';
import { hasSleepUrls, parseHookUrl, runSleepHook } from './sleep-hooks.ts';

let server: Server;
let port: number;
let requests: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (request.url === '/moved') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else response.writeHead(request.url === '/broken' ? 500 : 200).end('x'.repeat(100_000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

/** The worker listens on port 8000 inside. */
const runtime = {
  reach: async (_id: string, wanted: number) => (wanted === 8000 ? { host: '127.0.0.1', port } : null),
  gpuSleep: null,
};
const worker = (sleepUrl: string, wakeUrl = 'http://localhost:8000/wake_up') => ({
  id: 'w' as WorkerId,
  sleepMethod: 'URL' as const,
  sleepUrl,
  wakeUrl,
  httpPort: 8000,
});

test('a hook is a POST to the worker, whatever host its URL names for itself', async () => {
  requests = [];
  await runSleepHook(runtime, worker('http://0.0.0.0:8000/sleep?level=1'), 'sleep');
  await runSleepHook(runtime, worker('http://localhost:8000/sleep', 'http://localhost/wake_up'), 'wake');
  expect(requests).toEqual(['POST /sleep?level=1', 'POST /wake_up']);
});

test('an answer outside 200 to 299, a redirect and a closed port are failures that say so', async () => {
  const sleep = (url: string) => runSleepHook(runtime, worker(url), 'sleep');
  await expect(sleep('http://localhost:8000/broken')).rejects.toThrow('http://localhost:8000/broken answered 500');
  await expect(sleep('http://localhost:8000/moved')).rejects.toThrow('answered 302');
  await expect(sleep('http://localhost:9/sleep')).rejects.toThrow('nothing listens on port 9');
});

test('only plain URLs of the worker itself are hooks', () => {
  expect(parseHookUrl('http://localhost/a')).toEqual({ port: null, path: '/a' });
  expect(parseHookUrl('http://[::1]:81/')).toEqual({ port: 81, path: '/' });
  for (const url of [
    'http://example.com/sleep',
    'https://localhost/',
    'http://u:p@localhost/',
    'sleep',
    '',
    'http://169.254.169.254/',
  ])
    expect(parseHookUrl(url)).toBeNull();
  const wake = 'http://localhost:8000/wake_up';
  expect(hasSleepUrls({ PODYARD_SLEEP_URL: 'http://localhost:8000/sleep', PODYARD_WAKE_URL: wake })).toBe(true);
  expect(hasSleepUrls({ PODYARD_WAKE_URL: wake })).toBe(false);
});
