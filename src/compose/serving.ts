import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { Tracing } from '../core/tracing.ts';
import type { DataPlane } from '../dataplane/data-plane.ts';
import type { Bus } from '../db/bus.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { DatabaseHealth } from '../db/database-health.ts';
import type { Pool } from '../db/pool.ts';
import type { HubAccess } from '../domain/access/hub-access.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { RefusalLog } from '../domain/audit/refusal-log.ts';
import type { Installation } from '../domain/installation.ts';
import type { InstallationFacts } from '../domain/installation-facts.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { ModelOrigins } from '../domain/models/model-origins.ts';
import type { Recipe } from '../domain/models/recipe.ts';
import type { NoticeSender } from '../domain/notices/notice.ts';
import type { Readiness } from '../http/readiness.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { ProxySignIn } from '../sign-in/local/proxy-sign-in.ts';
import type { OwnSignIn } from '../sign-in/local/read-own-sign-in.ts';
import type { Provider } from '../sign-in/read-providers.ts';

/** The parts of a process, whether it serves its ports itself or starts others that do. */
export interface ServerParts {
  pool: Pool;
  queuePool: Pool;
  databaseUrl: string;
  /** The clock for comparisons with times in rows. */
  clock: DatabaseClock;
  bus: Bus;
  logger: Logger;
  metrics: Metrics;
  tracing: Tracing | null;
  secretBox: SecretBox;
  keyRing: KeyRing;
  /** Bounds the audit log's refusals. */
  refusals: RefusalLog;
  installation: Installation;
  facts: InstallationFacts;
  runtime: Runtime;
  data: DataPlane;
  readiness: Readiness;
  health: DatabaseHealth;
  webhooks: WebhookPolicy;
  models: ModelOrigins;
  recipes: readonly Recipe[];
  /** Null: workloads have no pull-through hub. */
  hubAccess: HubAccess | null;
  notices: NoticeSender;
  /** The providers that people sign in with. */
  providers: readonly Provider[];
  /** How they sign in without any. */
  own: OwnSignIn;
  /** Null: no proxy signs them in. */
  proxy: ProxySignIn | null;
  cleanUp: CleanUpStack;
}

/** Serves the ports of this server: its own listeners, or data processes. */
export interface Serving {
  workerApiUrl: string;
  /** Resolves with the public port once connections are accepted. */
  begin(): Promise<number>;
  /** Accepts no new connections: the processes that share the ports do. */
  stopAccepting(): void;
  /** Keeps serving, but closes each client's connection after its next response, so that the client reconnects to another process. */
  drain(): void;
  /** Resolves when no request waits for a job. */
  whenNothingHeld(): Promise<void>;
  /** Answers held requests and stops. */
  end(): Promise<void>;
}

/** Runs clean-up steps, last added first, each even if another fails. `run` runs them once; a second call waits for the first. */
export class CleanUpStack {
  readonly #steps: (() => Promise<unknown> | unknown)[] = [];
  #running: Promise<void> | undefined;

  add(step: () => Promise<unknown> | unknown): void {
    this.#steps.push(step);
  }

  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of this.#steps.reverse()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some clean-up steps failed');
  }
}
