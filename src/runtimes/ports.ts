import type { PublishedPort } from './runtime.ts';

/** Parses a `<port>/<protocol>` item, which was validated on input. */
export function parsePort(item: string): Pick<PublishedPort, 'private' | 'type'> {
  const [port, protocol] = item.split('/');
  return { private: Number(port), type: protocol === 'tcp' ? 'tcp' : 'http' };
}
