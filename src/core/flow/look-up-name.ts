import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { FairSlots } from './fair-slots.ts';
import { InFlight } from './in-flight.ts';

/** The C library resolves at most eight names at a time (`UV_THREADPOOL_SIZE`): two are left to those that the operator chose. */
const SLOTS = 6;
const PER_OWNER = 2;
/** Nobody waits longer: what would ask then is not asked any more, so that no owner has ever more names that wait. */
const MAX_WAIT_MS = 10_000;

export type LookUp = (host: string, owner: string) => Promise<LookupAddress[]>;

/**
 * Returns what resolves names that users choose. A name whose servers never answer keeps a thread for many seconds, whatever the
 * caller does meanwhile; so each owner has two names looked up at a time, and the same name once.
 */
export function createLookUp(resolve: (host: string) => Promise<LookupAddress[]>): LookUp {
  const slots = new FairSlots({ slots: SLOTS, perOwner: PER_OWNER });
  const underWay = new InFlight<LookupAddress[]>();
  return (host, owner) =>
    underWay.run(`${owner} ${host}`, () => {
      const askedAt = performance.now();
      return slots.run(owner, async () => {
        if (performance.now() - askedAt > MAX_WAIT_MS)
          throw new Error(`${host} was not looked up: other names whose servers do not answer were before it`);
        return resolve(host);
      });
    });
}

/** Rejects as `lookup` does. */
export const lookUpName: LookUp = createLookUp((host) => lookup(host, { all: true }));

/** Owns a name where it is not known whose it is: its last two labels, so that a domain without name servers holds up itself. */
export function domainOf(host: string): string {
  return host.split('.').slice(-2).join('.');
}
