import type { PublishedPort } from './runtime.ts';

/** Reads a `<port>/<protocol>` item, which was checked when it came in. */
export function parsePort(item: string): Pick<PublishedPort, 'private' | 'type'> {
  const [port, protocol] = item.split('/');
  return { private: Number(port), type: protocol === 'tcp' ? 'tcp' : 'http' };
}
