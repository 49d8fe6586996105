import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/**
 * Addresses that a webhook must not reach: loopback, private and link-local networks, cloud metadata, multicast (RFC 6890), and
 * IPv6 forms that embed an IPv4 address (compatible, NAT64, 6to4), which could stand for any of them.
 */
const blocked = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  blocked.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const) {
  blocked.addSubnet(network, prefix, 'ipv6');
}

/** False for addresses that a webhook must not reach. */
export function isPublicAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return isPublicAddress(mapped);
  return !blocked.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Resolves the address to connect to. The caller uses it as it is, so that a name cannot be rebound between the check and the
 * connection. Throws an error whose message is fit for users when the address is not allowed.
 */
export async function resolveWebhookHost(
  hostname: string,
  allowPrivate: boolean,
): Promise<{ address: string; family: 4 | 6 }> {
  const bare = hostname.replace(/^\[|\]$/g, '');
  const found = await lookup(bare, { all: true });
  const allowed = found.filter((entry) => allowPrivate || isPublicAddress(entry.address));
  const [first] = allowed;
  if (!first || allowed.length !== found.length) {
    throw new Error(`${hostname} is a private, loopback or link-local address, which webhooks may not reach`);
  }
  return { address: first.address, family: first.family === 6 ? 6 : 4 };
}
