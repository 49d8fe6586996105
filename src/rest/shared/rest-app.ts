import type { IncomingMessage } from 'node:http';
import type {} from '@fastify/swagger'; // which adds `hide` to a route's schema
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { TerminalLimits } from '../../config/limit-settings.ts';
import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';
import type { Clock } from '../../core/clock.ts';
import type { FailureKind } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Bus } from '../../db/bus.ts';
import type { Actor, Permission } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import type { OperatorAction } from '../../domain/access/roles.ts';
import type { CapacitySource } from '../../domain/catalog/capacity-source.ts';
import type { Context } from '../../domain/context.ts';
import type { InstallationFacts } from '../../domain/installation-facts.ts';
import type { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import type { ModelOrigins } from '../../domain/models/model-origins.ts';
import type { Recipe } from '../../domain/models/recipe.ts';
import type { NoticeSender } from '../../domain/notices/notice.ts';
import type { PodFigures } from '../../domain/pods/pod-figures.ts';
import type { AnswerBudget } from '../../http/floods/answer-budget.ts';
import type { RateLimiter } from '../../http/floods/rate-limiter.ts';
import type { Readiness } from '../../http/readiness.ts';
import type { MetricsPage } from '../installation/metrics-page.ts';
import type { LiveViews } from '../live/live-views.ts';
import type { LogSearches } from '../logs/log-searches.ts';

export { PERMISSIONS } from '../../domain/access/permissions.ts';

/** The dependencies of the routes: plain values, not Fastify decorators. */
export interface RestDeps extends Context {
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  keyRing: KeyRing;
  rateLimiter: RateLimiter;
  /** Shared with the queue API: one memory for all large payloads of this process. */
  answers: AnswerBudget;
  logSearches: LogSearches;
  secretBox: SecretBox;
  capacity: CapacitySource;
  podFigures: PodFigures;
  facts: InstallationFacts;
  metrics: Metrics;
  metricsPage: Pick<MetricsPage, 'isToken' | 'read'>;
  readiness: Readiness;
  logger: Logger;
  clock: Clock;
  /** Returns the API's URL as the client of this request reaches it, without a trailing slash. */
  publicUrlFor: (request: IncomingMessage) => string;
  /** Load-balancing endpoints answer at `<id>.<lbHost>`. Null: not configured. */
  lbHost: string | null;
  /** Null: terminals are disabled. */
  terminal: TerminalLimits | null;
  /** Where models come from. */
  models: ModelOrigins;
  /** How models become endpoints. */
  recipes: readonly Recipe[];
  /** Whether people can be invited to set a password. */
  own: { isLocalOn: boolean };
  /** Where webhooks may go. */
  webhooks: WebhookPolicy;
  /** Sends tests of destinations. */
  notices: NoticeSender;
  builds: {
    /** Why this server builds no images, one sentence; null: it does. */
    hindrance: string | null;
    /** Returns why files of folders cannot be stored now, one sentence; null: they can. */
    findScarceDisk(): Promise<string | null>;
  };
  /** The options that endpoints may set for their workers. */
  workloadOptions: WorkloadOptionRules;
  /** True if the server serves REST v1 as well. */
  hasV1?: boolean;
}

export interface RouteDeps extends RestDeps {
  /** Aborts when the app closes, to end open streams. */
  closing: AbortSignal;
  live: LiveViews;
}

/** Types handlers by their route's TypeBox schemas. */
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

/** Adds the operations of a resource to the app. */
export type RestRoute = (app: RestApp, deps: RouteDeps) => void;

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller. Set on every route that names a permission. */
    actor: Actor;
    /** True once the app of another revision answers it. */
    isPassedOn: boolean;
  }
  interface FastifyContextConfig {
    /**
     * The permission that the key must grant; `public` if no key is needed; `none` for a route that always rejects. Every route
     * declares one.
     */
    permission?: 'public' | 'none' | ((params: Record<string, string>) => Permission);
    /** An action that the caller's role in the installation must permit as well. */
    operator?: OperatorAction;
    /** The scraper's token is accepted instead of a key; there is no actor then. */
    takesMetricsToken?: true;
    /** The body is bytes, which the handler reads as a stream. */
    takesBytes?: true;
    /** The body is JSON whose bytes are signed: the handler gets them, and parses them itself. */
    takesSignedBody?: true;
    /** Members and items that the body may have, where the default does not do. */
    maxBodyValues?: number;
    /** This operation's own failures, for the description; those of every key and body are added to it. */
    failures?: FailureKind[];
  }
}
