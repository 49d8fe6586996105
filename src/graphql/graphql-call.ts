import type { Clock } from '../core/clock.ts';
import { Failure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Bus } from '../db/bus.ts';
import type { Actor, Permission } from '../domain/access/actor.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { CapacitySource } from '../domain/catalog/capacity-source.ts';
import type { Context } from '../domain/context.ts';
import type { PodFigures } from '../domain/pods/pod-figures.ts';
import { checkPermission } from '../http/authenticate.ts';
import type { RateLimiter } from '../http/rate-limiter.ts';

/** What the interface works with. Plain values, handed down. */
export interface GraphqlDeps extends Context {
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  keyRing: KeyRing;
  rateLimiter: RateLimiter;
  secretBox: SecretBox;
  capacity: CapacitySource;
  podFigures: PodFigures;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Whether the schema may be asked for. */
  isIntrospectable: boolean;
}

/** So many records may one answer hold, over all its lists: about a second of work. */
const MAX_RECORDS = 20_000;

/** One request: who asks (null without a key), and what its fields share. */
export class GraphqlCall {
  readonly deps: GraphqlDeps;
  readonly actor: Actor | null;
  readonly #shared: Map<string, Promise<unknown>> | null;
  #records = 0;

  /** A mutation changes what it reads: its fields share nothing. */
  constructor(deps: GraphqlDeps, actor: Actor | null, isMutation: boolean) {
    this.deps = deps;
    this.actor = actor;
    this.#shared = isMutation ? null : new Map();
  }

  /** The one who asks, if the key permits it. Throws `unauthorized` without a key, `forbidden` with one that does not. */
  permit(permission: Permission): Actor {
    if (this.actor === null) {
      throw new Failure('unauthorized', 'An API key is needed: send it as ?api_key= or as a bearer token.');
    }
    checkPermission(this.actor, permission);
    return this.actor;
  }

  /** Reads once what several fields of a query need. */
  share<T>(name: string, read: () => Promise<T>): Promise<T> {
    if (this.#shared === null) return read();
    let known = this.#shared.get(name) as Promise<T> | undefined;
    if (!known) {
      known = read();
      this.#shared.set(name, known);
    }
    return known;
  }

  /** Counts records of a list that goes into the answer. Throws `badRequest` when it would be too large. */
  count<T>(records: readonly T[]): readonly T[] {
    this.#records += records.length;
    if (this.#records <= MAX_RECORDS) return records;
    throw new Failure('badRequest', `The answer would hold more than ${MAX_RECORDS} records: ask for less at a time.`);
  }
}

/** Type → field → how it is resolved. A field without an entry is the property of that name. */
export type Resolvers = Record<string, Record<string, Resolver>>;
// The executor hands over what the schema says: the static types of arguments and parents are the resolver's own claim.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Resolver = (parent: any, args: any, call: GraphqlCall) => unknown;
