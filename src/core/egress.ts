import { isIP } from 'node:net';
import { parseOneOf } from './parse-setting.ts';
import { UsageError } from './usage-error.ts';

const MODES = ['internet', 'lan', 'all'] as const;
const ANY_PREFIX = /^\d{1,3}$/;

/**
 * What workloads can reach. `lan`: the internet and private networks. `internet`: no private networks. Both close services
 * of the machine itself, other than the worker API and DNS, and link-local addresses. `all`: no limits.
 */
export type EgressMode = (typeof MODES)[number];

/** A network that workloads can reach although the mode closes it; on all ports, or on one TCP port. */
export interface AllowedEgress {
  family: 4 | 6;
  /** An address or a CIDR. */
  network: string;
  port: number | null;
}

export interface EgressSettings {
  mode: EgressMode;
  allow: readonly AllowedEgress[];
  /** False: the operator named no mode. */
  isExplicit: boolean;
}

/** What workloads reach cannot be limited. `isPossible`: it could be, with other rights; false: not on this machine. */
export class EgressUnavailable extends Error {
  readonly isPossible: boolean;

  constructor(message: string, isPossible: boolean) {
    super(message);
    this.name = 'EgressUnavailable';
    this.isPossible = isPossible;
  }
}

/** Reads `--egress` and `--egress-allow`. Throws a sentence with the setting, its value and what is allowed. */
export function parseEgress(mode: string | undefined, allow: string | undefined): EgressSettings {
  const settings = {
    mode: parseOneOf('--egress', mode ?? 'lan', MODES),
    allow: (allow ?? '').split(',').flatMap((item) => (item.trim() === '' ? [] : [parseAllowed(item.trim())])),
    isExplicit: mode !== undefined,
  };
  if (settings.mode === 'all' && settings.allow.length > 0) {
    throw new UsageError('--egress-allow has no effect with --egress all: leave it out, or choose lan or internet');
  }
  return settings;
}

/** `10.0.5.0/24`, `192.168.1.10:5432`, `fd00::/8` or `[fd00::1]:443`. */
function parseAllowed(item: string): AllowedEgress {
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+(?=:\d+$)))(?::(\d{1,5}))?$/.exec(item) ?? [];
  const network = bracketed ?? plain ?? item;
  const [address, prefix, ...more] = network.split('/');
  const family = address!.includes('%') ? 0 : isIP(address!);
  const bits = family === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (ANY_PREFIX.test(prefix) && Number(prefix) <= bits);
  const port = portText === undefined ? null : Number(portText);
  if (
    (family !== 4 && family !== 6) ||
    !isPrefix ||
    more.length > 0 ||
    (port !== null && (port < 1 || port > 65_535))
  ) {
    throw new UsageError(
      `--egress-allow has '${item}', but takes networks with an optional TCP port, e.g. 10.0.5.0/24,192.168.1.10:5432`,
    );
  }
  return { family, network, port };
}
