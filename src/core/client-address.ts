import { isIP } from 'node:net';

/** Where a request comes from, as its connection and its headers say. */
export interface Peer {
  remoteAddress: string | undefined;
  /** `X-Forwarded-For`, with the values of repeated headers joined. */
  forwardedFor: string | undefined;
}

/** The addresses whose `X-Forwarded-For` is believed. */
export interface TrustedAddresses {
  has(address: string): boolean;
}

/** Returns the client's address: of the connection, or if that is a trusted proxy's, the last forwarded one that is not. */
export function clientAddress({ remoteAddress, forwardedFor = '' }: Peer, trusted: TrustedAddresses): string {
  let address = plain(remoteAddress ?? '');
  for (const hop of forwardedFor.split(',').reverse()) {
    const next = plain(hop.trim());
    if (!trusted.has(address) || isIP(next) === 0) break;
    address = next;
  }
  return address;
}

/** Returns the address, or the /64 of an IPv6 one: a client has all addresses of it. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...(tail?.split(':') ?? [])]
    .slice(0, 4)
    .join(':');
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
