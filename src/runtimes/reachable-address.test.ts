import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { reachableAddress } from './reachable-address.ts';

const found =
  (...items: [address: string, family: string, internal: boolean][]) =>
  () => ({
    any: items.map(([address, family, internal]) => ({ address, family, internal }) as NetworkInterfaceInfo),
  });

test('one address is reached at itself', () => {
  expect(reachableAddress('192.0.2.7', found())).toBe('192.0.2.7');
});

test.each(['0.0.0.0', '::'])('%s is reached at the first IPv4 address that is not internal', (address) => {
  const machine = found(['127.0.0.1', 'IPv4', true], ['2001:db8::1', 'IPv6', false], ['192.0.2.7', 'IPv4', false]);
  expect(reachableAddress(address, machine)).toBe('192.0.2.7');
  expect(reachableAddress(address, found(['127.0.0.1', 'IPv4', true]))).toBe('127.0.0.1');
});
