import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { networkReason } from './network-reason.ts';

const failed = (code: string) => Object.assign(new Error(`getaddrinfo ${code} nohost.test`), { code });

test('a name that nothing is known of, and one that nobody could be asked for, are told apart', () => {
  expect(networkReason(failed('ENOTFOUND'), 'nohost.test')).toBe('there is no host named nohost.test');
  expect(networkReason(new TypeError('fetch failed', { cause: failed('EAI_AGAIN') }), 'nohost.test')).toBe(
    'no name server answered for nohost.test',
  );
  expect(networkReason(failed('ECONNRESET'), 'nohost.test')).toBe('getaddrinfo ECONNRESET nohost.test');
});

test('where nothing listens, also at a name with several addresses, that is said', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  for (const host of ['127.0.0.1', 'localhost']) {
    const error = await fetch(`http://${host}:${port}`).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(networkReason(error, host)).toBe('nothing listens there');
  }
});
