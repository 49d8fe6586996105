import type { Config } from '../config/config.ts';
import { auditLoop } from '../control/audit/keep-audit.ts';
import { auditStream } from '../control/audit/stream-audit.ts';
import type { Clock } from '../core/clock.ts';
import type { CutLoop } from '../core/flow/cut-loop.ts';
import type { Loop } from '../core/flow/loop.ts';
import type { Logger } from '../core/logger.ts';
import type { Pool } from '../db/pool.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { auditOtlp, auditWebhook } from '../outbound/audit-receivers.ts';
import { auditSyslog } from '../outbound/audit-syslog.ts';

interface Parts {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  webhooks: WebhookPolicy;
}

/** Creates what seals and expires the audit log, and what sends it elsewhere if the configuration says where. */
export function createAuditLoops({ audit }: Config, { pool, clock, logger, webhooks }: Parts): (Loop | CutLoop)[] {
  const keeper = auditLoop({ pool, clock, logger, retentionMs: audit.retentionMs });
  const { webhook: url, webhookSecret: secret, syslog, otlp, otlpHeaders } = audit;
  const receivers = [
    ...(url !== null && secret !== null ? [auditWebhook({ url, secret, webhooks })] : []),
    ...(syslog === null ? [] : [auditSyslog(syslog)]),
    ...(otlp === null ? [] : [auditOtlp(otlp, otlpHeaders)]),
  ];
  return [keeper, ...receivers.map((receiver) => auditStream({ pool, logger, receiver }))];
}
