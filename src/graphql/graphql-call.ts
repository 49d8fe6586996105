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

/** What the resolvers depend on. */
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
  /** Allows introspection. */
  isIntrospectable: boolean;
}

/** Maximum records in one response, over all its lists: about a second of work. */
const MAX_RECORDS = 20_000;

/** One request: its caller (null without a key), and the reads that its fields share. */
export class GraphqlCall {
  readonly deps: GraphqlDeps;
  readonly actor: Actor | null;
  readonly #shared: Map<string, Promise<unknown>> | null;
  #records = 0;

  /** The fields of a mutation share nothing, since it changes what it reads. */
  constructor(deps: GraphqlDeps, actor: Actor | null, isMutation: boolean) {
    this.deps = deps;
    this.actor = actor;
    this.#shared = isMutation ? null : new Map();
  }

  /** Returns the caller if the key has the permission. Throws `unauthorized` without a key, `forbidden` without the permission. */
  permit(permission: Permission): Actor {
    if (this.actor === null) {
      throw new Failure('unauthorized', 'An API key is required: send it as ?api_key= or as a bearer token.');
    }
    checkPermission(this.actor, permission);
    return this.actor;
  }

  /** Reads once per query what several fields need. */
  share<T>(name: string, read: () => Promise<T>): Promise<T> {
    if (this.#shared === null) return read();
    let known = this.#shared.get(name) as Promise<T> | undefined;
    if (!known) {
      known = read();
      this.#shared.set(name, known);
    }
    return known;
  }

  /** Counts the records of a list in the response. Throws `badRequest` above the limit. */
  count<T>(records: readonly T[]): readonly T[] {
    this.#records += records.length;
    if (this.#records <= MAX_RECORDS) return records;
    throw new Failure(
      'badRequest',
      `The response would have more than ${MAX_RECORDS} records: request less at a time.`,
    );
  }
}

/** Type → field → resolver. A field without a resolver is the property of that name. */
export type Resolvers = Record<string, Record<string, Resolver>>;
// The executor passes what the schema declares: each resolver states the static types of its parent and arguments.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Resolver = (parent: any, args: any, call: GraphqlCall) => unknown;
