import { networkInterfaces } from 'node:os';

const UNSPECIFIED = ['0.0.0.0', '::'];

/**
 * Returns the address at which clients reach what listens on `address`: for all addresses, the first IPv4 address of this machine
 * that others can reach, or loopback if it has none.
 */
export function reachableAddress(address: string, interfaces = networkInterfaces): string {
  if (!UNSPECIFIED.includes(address)) return address;
  const all = Object.values(interfaces()).flatMap((some) => some ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
