import { expect, test } from 'vitest';
import { clientAddress, clientNetwork } from './client-address.ts';

const trusted = { has: (address: string) => address.startsWith('10.') };

test.each([
  ['the connection itself', '1.2.3.4', undefined, '1.2.3.4'],
  ['a mapped address', '::ffff:1.2.3.4', undefined, '1.2.3.4'],
  ['a stranger who claims to forward', '1.2.3.4', '9.9.9.9', '1.2.3.4'],
  ['a trusted proxy that forwards', '10.0.0.1', '5.6.7.8', '5.6.7.8'],
  ['a chain of trusted proxies', '10.0.0.1', '9.9.9.9, 5.6.7.8, 10.0.0.2', '5.6.7.8'],
  ['a trusted proxy that forwards no address', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['no address at all', undefined, undefined, ''],
])('%s', (_, remoteAddress, forwardedFor, expected) => {
  expect(clientAddress({ remoteAddress, forwardedFor }, trusted)).toBe(expected);
});

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::6', '2001:db8:0:0'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
])('the network of %s is %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
