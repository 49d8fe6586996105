import { UsageError } from '../core/usage-error.ts';
import { parseNetworkAndPort, parseOneOf } from './parse-setting.ts';
import { optional, readSettings, setting, type ValuesOf } from './setting.ts';

const MODES = ['internet', 'lan', 'all'] as const;

/**
 * Reach of workloads. `lan`: the internet and private networks. `internet`: no private networks. Both close services
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

/** Thrown when workloads' egress cannot be limited. `isPossible`: it could be, with other rights; false: not on this machine. */
export class EgressUnavailable extends Error {
  readonly isPossible: boolean;

  constructor(message: string, isPossible: boolean) {
    super(message);
    this.name = 'EgressUnavailable';
    this.isPossible = isPossible;
  }
}

export const EGRESS = {
  /** Null: the operator named none. */
  mode: optional({
    variable: 'PODYARD_EGRESS',
    flag: 'egress',
    takes: '<scope>',
    shownDefault: 'lan',
    parse: (name, text) => parseOneOf(name, text, MODES),
    page: 'What workers and pods reach: internet, lan, all: see [egress](guide/security.md#egress)',
    help: 'what workers and pods can reach: internet, lan (also private networks) or all',
    chart: { value: 'egress', as: 'template' },
  }),
  allow: setting({
    variable: 'PODYARD_EGRESS_ALLOW',
    flag: 'egressAllow',
    takes: '<networks>',
    default: '',
    shownDefault: 'none',
    parse: (_name, text) => text.split(',').flatMap((item) => (item.trim() === '' ? [] : [parseAllowed(item.trim())])),
    page: 'Networks that they reach as well: `10.0.5.0/24,192.168.1.10:5432`',
    help: 'what they can reach as well, e.g. 10.0.5.0/24,192.168.1.10:5432',
    chart: { value: 'egressAllow', as: 'template' },
  }),
};

/** Applies the default mode. Throws if the two settings contradict each other. */
export function egressOf({ mode, allow }: ValuesOf<typeof EGRESS>): EgressSettings {
  if (mode === 'all' && allow.length > 0) {
    throw new UsageError('--egress-allow has no effect with --egress all: leave it out, or choose lan or internet');
  }
  return { mode: mode ?? 'lan', allow, isExplicit: mode !== null };
}

/** Reads the values of `--egress` and `--egress-allow`. */
export function parseEgress(egress: string | undefined, egressAllow: string | undefined): EgressSettings {
  return egressOf(readSettings(EGRESS, { egress, egressAllow }, {}));
}

function parseAllowed(item: string): AllowedEgress {
  const parsed = parseNetworkAndPort(item);
  if (parsed !== null) return parsed;
  throw new UsageError(
    `--egress-allow has '${item}', but takes networks with an optional TCP port, e.g. 10.0.5.0/24,192.168.1.10:5432`,
  );
}
