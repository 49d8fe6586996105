import type { IncomingMessage } from 'node:http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Clock } from '../../core/clock.ts';
import type { FailureKind } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Actor, Permission } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import type { CapacitySource } from '../../domain/catalog/capacity-source.ts';
import type { Context } from '../../domain/context.ts';
import type { InstallationFacts } from '../../domain/installation-facts.ts';
import type { PodFigures } from '../../domain/pods/pod-figures.ts';
import type { RateLimiter } from '../../http/rate-limiter.ts';
import type { Readiness } from '../../http/readiness.ts';
import type { MetricsPage } from '../installation/metrics-page.ts';
import type { LiveViews } from './live-views.ts';

export { PERMISSIONS } from '../../http/permissions.ts';

/** What the routes work with. Plain values, handed down; nothing is looked up through the framework. */
export interface RestDeps extends Context {
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  keyRing: KeyRing;
  rateLimiter: RateLimiter;
  secretBox: SecretBox;
  capacity: CapacitySource;
  podFigures: PodFigures;
  facts: InstallationFacts;
  /** Where requests are counted, and where all that is counted can be read. */
  metrics: Metrics;
  metricsPage: Pick<MetricsPage, 'isToken' | 'read'>;
  readiness: Readiness;
  logger: Logger;
  clock: Clock;
  /** Where the client of this request reaches the API, without a slash at the end. */
  publicUrlFor: (request: IncomingMessage) => string;
  /** Host under which load-balancing endpoints answer (`<id>.<lbHost>`); null: none is configured. */
  lbHost: string | null;
}

export interface RouteDeps extends RestDeps {
  /** Aborts when the app closes: ends what would stream for ever. */
  closing: AbortSignal;
  live: LiveViews;
}

/** Gives handlers the static types of their route's TypeBox schemas. */
interface TypeBoxProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
}

export type RestApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxProvider
>;

/** Adds one operation to the app. */
export type RestRoute = (app: RestApp, deps: RouteDeps) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set before the handler of every route that names a permission; reading it elsewhere throws. */
    actor: Actor;
  }
  interface FastifyContextConfig {
    /**
     * What the key must permit, or `public` for no key at all. Every operation says one of the two; `none` is for what
     * is no operation and always refused.
     */
    permission?: 'public' | 'none' | ((params: Record<string, string>) => Permission);
    /** The operator's token for scrapers opens it as well; then there is no actor. */
    takesMetricsToken?: true;
    /** Refusals of this operation beside those that every operation with a key, or with a body, has: for the description. */
    failures?: FailureKind[];
  }
}
