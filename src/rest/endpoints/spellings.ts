import type { RestRevision } from '../../core/rest-revisions.ts';
import { describeEndpoint, readEndpoint } from '../shared/terraform.ts';
import type { Hint, Wire } from '../shared/wire.ts';

/** Where the two revisions spell the same thing differently: places in a body, or values at a place. */
const MEMBERS: readonly Record<RestRevision, string>[] = [
  { '2026-07': '/scaling/value', '2026-08': '/scaling/queueDelay' },
  { '2026-07': '/scaling/value', '2026-08': '/scaling/requestCount' },
  { '2026-07': '/scaling/idleTimeout', '2026-08': '/workers/idleTimeout' },
];
const TYPES: readonly Record<RestRevision, string>[] = [
  { '2026-07': 'QUEUE_BASED', '2026-08': 'QUEUE' },
  { '2026-07': 'LOAD_BALANCING', '2026-08': 'LOAD_BALANCER' },
];

/** Members that the older revision has no words for in a body. */
const ONLY_NEWER = ['/gpu/excludedTypes', '/gpu/allowedCudaVersions', '/gpu/minCudaVersion', '/cpu/0'];

/** Returns what is known of refused bodies of endpoints. */
export function hintsFor(own: RestRevision): NonNullable<Wire['hints']> {
  const hint: Hint = {
    explain: (body) => [...describeSpellings(body, own), ...describeEndpoint(body)],
    read: readEndpoint,
  };
  return { CreateEndpointRequest: hint, UpdateEndpointRequest: hint };
}

/**
 * Returns an explanation for each place of a refused body that is spelled as in the other revision. It names both, since
 * a body may mix them.
 */
function describeSpellings(body: unknown, own: RestRevision): string[] {
  const other: RestRevision = own === '2026-07' ? '2026-08' : '2026-07';
  const found = new Map<string, string[]>();
  for (const member of MEMBERS) {
    if (!has(body, member[other])) continue;
    found.set(member[other], [...(found.get(member[other]) ?? []), member[own]]);
  }
  const members = [...found].map(
    ([place, names]) => `${place}: the spelling of revision ${other}; in revision ${own} it is ${names.join(' or ')}`,
  );
  const type = (body as { type?: unknown } | null)?.type;
  const types = TYPES.filter((one) => one[other] === type).map(
    (one) => `/type: '${one[other]}' is the spelling of revision ${other}; in revision ${own} it is '${one[own]}'`,
  );
  const isWhole = own === '2026-08' && type === undefined && has(body, '/scaling/value');
  const base = isWhole ? ['$: this client speaks revision 2026-07: give it /2026-07/v2 as its base URL'] : [];
  const missing = own === '2026-07' ? ONLY_NEWER.filter((place) => has(body, place)) : [];
  const hints = missing.map((place) => `${place}: only revision 2026-08 has it: send the body to /2026-08/v2`);
  return [...types, ...members, ...base, ...hints];
}

function has(body: unknown, place: string): boolean {
  let value = body;
  for (const name of place.slice(1).split('/')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return true;
}
