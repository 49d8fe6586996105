import { isIP } from 'node:net';
import { trimSlashes } from '../core/text/trim-slashes.ts';
import { UsageError } from '../core/usage-error.ts';

/** Parsers of settings. Each throws a sentence with the setting's name, its value and what is allowed. */

/** An absent or empty value gives the fallback. */
export function parseInteger(
  name: string,
  value: string | undefined,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number {
  if (value === undefined || value === '') return fallback;
  const number = Number(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new UsageError(`${name} is '${value}', but must be a whole number from ${min} to ${max}`);
  }
  return number;
}

export function parseOneOf<const T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const match = allowed.find((candidate) => candidate === value);
  if (match === undefined) throw new UsageError(`${name} is '${value}', but must be one of ${allowed.join(', ')}`);
  return match;
}

/** Returns the URL without trailing slashes. */
export function parseUrl(name: string, value: string): string {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new UsageError(`${name} is '${value}', but must be an http or https URL`);
  }
  return trimSlashes(value);
}

/** Returns a host name with an optional port, in lower case. */
export function parseHostName(name: string, value: string): string {
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i.test(value)) {
    throw new UsageError(`${name} is '${value}', but must be a host name with an optional port, e.g. pods.example.com`);
  }
  return value.toLowerCase();
}

export function parseIpAddress(name: string, value: string): string {
  if (isIP(value) === 0) throw new UsageError(`${name} is '${value}', but must be an IP address`);
  return value;
}

/** Addresses and networks separated by commas, e.g. `10.0.0.0/8,::1`. */
export function parseNetworks(name: string, value: string): readonly string[] {
  const items = value.split(',').flatMap((item) => item.trim() || []);
  for (const item of items) {
    const [address, prefix, ...more] = item.split('/');
    const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address!)]!;
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
    if (bits < 0 || !isPrefix || more.length > 0) {
      throw new UsageError(`${name} has '${item}', but takes addresses and networks, e.g. 127.0.0.1,10.0.0.0/8`);
    }
  }
  return items;
}

/** `10.0.5.0/24`, `192.168.1.10:5432`, `fd00::/8` or `[fd00::1]:443`; null if the text is none of these. */
export function parseNetworkAndPort(text: string): { family: 4 | 6; network: string; port: number | null } | null {
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+(?=:\d+$)))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const network = bracketed ?? plain ?? text;
  const [address, prefix, ...more] = network.split('/');
  const family = address!.includes('%') ? 0 : isIP(address!);
  if (family !== 4 && family !== 6) return null;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32));
  const port = portText === undefined ? null : Number(portText);
  if (!isPrefix || more.length > 0 || (port !== null && !isPort(port))) return null;
  return { family, network, port };
}

export function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535;
}

/** Patterns of registries separated by commas, e.g. `docker.io,*.example.com,registry.lan:5000`; null where there are none. */
export function parseRegistries(name: string, value: string): readonly string[] | null {
  const items = value.split(',').flatMap((item) => item.trim().toLowerCase() || []);
  for (const item of items) {
    if (!/^(?:[a-z0-9*.-]+|\[[0-9a-f:]+\])(?::(?:\d{1,5}|\*))?$/.test(item)) {
      throw new UsageError(
        `${name} has '${item}', but takes registries, e.g. docker.io,*.example.com,registry.lan:5000`,
      );
    }
  }
  return items.length === 0 ? null : items;
}

/** Mirrors such as `docker.io=mirror.lan:5000`, separated by commas. A scheme is left out: the engine knows which hosts have TLS. */
export function parseMirrors(name: string, value: string): ReadonlyMap<string, string> {
  const items = value.split(',').flatMap((item) => item.trim() || []);
  return new Map(
    items.map((item) => {
      const [, host, mirror] =
        /^([a-z0-9.-]+(?::\d{1,5})?)=(?:https?:\/\/)?([a-z0-9.-]+(?::\d{1,5})?(?:\/[a-z0-9._-]+)*)\/?$/i.exec(item) ??
        [];
      if (host === undefined || mirror === undefined || host === mirror)
        throw new UsageError(`${name} has '${item}', but takes mirrors, e.g. docker.io=https://mirror.lan:5000`);
      return [host.toLowerCase(), mirror] as const;
    }),
  );
}

const MEMORY_UNITS = { B: 1, MB: 1e6, MIB: 2 ** 20, GB: 1e9, GIB: 2 ** 30 } as const;

/** A size such as `2GiB`, in bytes. */
export function parseSize(name: string, value: string, { min }: { min: number }): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([MG]i?B)$/i.exec(value.trim()) ?? [];
  const bytes = Math.floor(Number(number) * MEMORY_UNITS[unit.toUpperCase() as keyof typeof MEMORY_UNITS]);
  if (Number.isNaN(bytes) || bytes < min || !Number.isSafeInteger(bytes)) {
    throw new UsageError(`${name} is '${value}', but must be a size like 2GiB or 500MB, at least ${min / 2 ** 20}MiB`);
  }
  return bytes;
}

/** A size such as `8GiB`, a share of the machine's memory such as `25%`, or 0. */
export function parseMemory(name: string, value: string): { bytes: number } | { share: number } {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*(%|[MG]i?B|B)?$/i.exec(value.trim()) ?? [];
  const isShare = unit === '%' && Number(number) <= 100;
  if (isShare) return { share: Number(number) / 100 };
  const factor = MEMORY_UNITS[(unit ?? 'B').toUpperCase() as keyof typeof MEMORY_UNITS];
  if (number === undefined || factor === undefined || (unit === undefined && number !== '0')) {
    throw new UsageError(`${name} is '${value}', but must be a size like 8GiB or 500MB, a share like 25%, or 0`);
  }
  return { bytes: Math.floor(Number(number) * factor) };
}
