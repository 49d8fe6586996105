import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Installation } from '../domain/installation.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { ModelStore } from '../models/store/model-store.ts';
import type { Runtime } from '../runtimes/runtime.ts';

interface Parts {
  runtime: Runtime;
  installation: Installation;
  webhooks: WebhookPolicy;
  metrics: Metrics;
  clock: Clock;
}

/** Creates the store of this machine's models; null where workers see no folders of this machine. */
export function createModelStore({ dataDir, hubUrl, models }: Config, parts: Parts): ModelStore | null {
  const { runtime, installation, webhooks, metrics, clock } = parts;
  if (runtime.name !== 'docker' && runtime.name !== 'process') return null;
  const { fetchedBytes, evicted } = metrics.models;
  return new ModelStore({
    ...models,
    root: join(dataDir, 'models', installation.id),
    hubUrl,
    reach: webhooks,
    isShown: runtime.capabilities.isolation,
    clock,
    counters: { fetchedBytes: (bytes) => fetchedBytes.add(bytes), evicted: () => evicted.add() },
  });
}
