import { UsageError } from '../core/usage-error.ts';
import { parseNetworkAndPort, parseOneOf } from './parse-setting.ts';

const MODES = ['internet', 'lan', 'all'] as const;

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

function parseAllowed(item: string): AllowedEgress {
  const parsed = parseNetworkAndPort(item);
  if (parsed !== null) return parsed;
  throw new UsageError(
    `--egress-allow has '${item}', but takes networks with an optional TCP port, e.g. 10.0.5.0/24,192.168.1.10:5432`,
  );
}
