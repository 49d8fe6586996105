import { expect, test } from 'vitest';
import { ContainerAddresses } from './bridge-network.ts';

test('every address of a subnet is used once before one repeats, except the network’s own', () => {
  const addresses = new ContainerAddresses('10.9.8.0/28', '10.9.8.1', 0.9);
  const round = Array.from({ length: 13 }, () => addresses.next());
  expect(new Set(round).size).toBe(13);
  expect(round).not.toContain('10.9.8.0');
  expect(round).not.toContain('10.9.8.1');
  expect(round).not.toContain('10.9.8.15');
  expect(round[0]).toBe('10.9.8.2'); // wraps around
  expect(addresses.next()).toBe(round[0]);
});

test('addresses are right for subnets of any size', () => {
  expect(new ContainerAddresses('172.20.0.0/16', '172.20.0.1', 0.5).next()).toBe('172.20.128.1');
  expect(new ContainerAddresses('10.0.0.0/8', '10.0.0.1', 0.999999).next()).toBe('10.0.0.2');
  expect(new ContainerAddresses('192.168.240.0/20', '192.168.240.1', 0.5).next()).toBe('192.168.248.1');
});
