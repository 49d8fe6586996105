import { expect, test } from 'vitest';
import { isPublicAddress, resolveWebhookHost } from './webhook-address.ts';

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(['1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '::ffff:8.8.8.8', '2606:4700:4700::1111'])(
  '%s is public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '169.254.169.254'])(
  'a webhook to %s is refused with a sentence',
  async (host) => {
    await expect(resolveWebhookHost(host, false)).rejects.toThrow(
      `${host} is a private, loopback or link-local address, which webhooks may not reach`,
    );
  },
);

test('an operator may allow private addresses', async () => {
  expect(await resolveWebhookHost('127.0.0.1', true)).toEqual({ address: '127.0.0.1', family: 4 });
  expect(await resolveWebhookHost('[::1]', true)).toEqual({ address: '::1', family: 6 });
});
