import { expect, test } from 'vitest';
import { ContainerAddresses } from './container-addresses.ts';

test('every address of a subnet is given once before one comes again, without those of the network itself', () => {
  const addresses = new ContainerAddresses('10.9.8.0/28', '10.9.8.1', 0.9);
  const round = Array.from({ length: 13 }, () => addresses.next());
  expect(new Set(round).size).toBe(13);
  expect(round).not.toContain('10.9.8.0');
  expect(round).not.toContain('10.9.8.1');
  expect(round).not.toContain('10.9.8.15');
  expect(round[0]).toBe('10.9.8.2'); // after the last of the subnet comes the first
  expect(addresses.next()).toBe(round[0]);
});

test('of a subnet of any size the addresses are right', () => {
  expect(new ContainerAddresses('172.20.0.0/16', '172.20.0.1', 0.5).next()).toBe('172.20.128.1');
  expect(new ContainerAddresses('10.0.0.0/8', '10.0.0.1', 0.999999).next()).toBe('10.0.0.2');
  expect(new ContainerAddresses('192.168.240.0/20', '192.168.240.1', 0.5).next()).toBe('192.168.248.1');
});
