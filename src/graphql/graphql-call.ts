import type { Clock } from '../core/clock.ts';
import { Failure } from '../core/errors.ts';
import { takeTurn } from '../core/flow/turns.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Bus } from '../db/bus.ts';
import type { Actor, Permission } from '../domain/access/actor.ts';
import { checkPermission } from '../domain/access/actor.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import { recordRefusal } from '../domain/audit/record-refusal.ts';
import type { CapacitySource } from '../domain/catalog/capacity-source.ts';
import type { Context } from '../domain/context.ts';
import type { ModelOrigins } from '../domain/models/model-origins.ts';
import type { PodFigures } from '../domain/pods/pod-figures.ts';
import type { RateLimiter } from '../http/floods/rate-limiter.ts';
import { AnswerSize } from './answer-size.ts';

/** The dependencies of the resolvers. */
export interface GraphqlDeps extends Context {
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  keyRing: KeyRing;
  rateLimiter: RateLimiter;
  secretBox: SecretBox;
  capacity: CapacitySource;
  podFigures: PodFigures;
  models: ModelOrigins;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Allows introspection. */
  isIntrospectable: boolean;
}

/** Maximum records in one response, over all its lists. */
const MAX_RECORDS = 20_000;

/** Up to so many records are shown without a turn of their own: there may be many such lists. */
const SHORT_LIST = 20;

/** One request: its caller (null without a key), and the reads that its fields share. */
export class GraphqlCall {
  readonly deps: GraphqlDeps;
  readonly actor: Actor | null;
  readonly size = new AnswerSize();
  /** Whose turns on the event loop it takes. */
  readonly #owner: string;
  readonly #shared: Map<string, unknown> | null;
  #records = 0;

  /** The fields of a mutation share nothing, since it changes what it reads. */
  constructor(deps: GraphqlDeps, { actor, owner }: { actor: Actor | null; owner: string }, isMutation: boolean) {
    this.deps = deps;
    this.actor = actor;
    this.#owner = owner;
    this.#shared = isMutation ? null : new Map();
  }

  /** Returns the caller if the key has the permission. Throws `unauthorized` without a key, `forbidden` without the permission. */
  permit(permission: Permission): Actor {
    if (this.actor === null) {
      throw new Failure('unauthorized', 'An API key is required: send it as ?api_key= or as a bearer token.');
    }
    try {
      checkPermission(this.actor, permission);
    } catch (error) {
      const recordId = 'resourceId' in permission ? (permission.resourceId ?? null) : null;
      void recordRefusal(this.deps, this.actor, { operation: 'access.refuse', what: 'GraphQL', recordId, error });
      throw error;
    }
    return this.actor;
  }

  /** Reads once per query what several fields need. Fields that come after it was read get it without a promise, which costs more than most fields. */
  share<T>(name: string, read: () => Promise<T>): T | Promise<T> {
    const shared = this.#shared;
    if (shared === null) return read();
    if (shared.has(name)) return shared.get(name) as T | Promise<T>;
    const reading = read();
    shared.set(name, reading);
    reading.then(
      (value) => shared.set(name, value),
      () => {}, // the fields that need it fail
    );
    return reading;
  }

  /** Returns the records of a list, counted; a long one yields to other requests between them. */
  list<T, Shown>(records: readonly T[], show: (record: T) => Shown): Shown[] | AsyncGenerator<Shown> {
    this.#count(records);
    return this.inTurns(records, show);
  }

  /** The same for parts of a record, which are not counted. */
  inTurns<T, Shown>(parts: readonly T[], show: (part: T) => Shown): Shown[] | AsyncGenerator<Shown> {
    return parts.length <= SHORT_LIST ? parts.map(show) : this.#listInTurns(parts, show);
  }

  async *#listInTurns<T, Shown>(records: readonly T[], show: (record: T) => Shown): AsyncGenerator<Shown> {
    for (const record of records) {
      const turn = takeTurn(this.#owner);
      if (turn) await turn;
      yield show(record);
    }
  }

  /** Throws `badRequest` above the limit. */
  #count(records: readonly unknown[]): void {
    this.#records += records.length;
    if (this.#records <= MAX_RECORDS) return;
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
type Resolver = (parent: any, args: any, call: GraphqlCall) => unknown;
