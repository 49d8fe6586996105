import { createHmac } from 'node:crypto';
import type { AuditPortion, AuditStreamKind } from '../domain/audit/stream-store.ts';
import { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { otlpBody } from './audit-formats.ts';
import { postWebhook } from './post-webhook.ts';

/** Where the audit log is sent besides. Rejects unless all entries of a portion were accepted. */
export interface AuditReceiver {
  readonly kind: AuditStreamKind;
  deliver(portion: AuditPortion, signal: AbortSignal): Promise<void>;
}

/** `head` is the chain's newest hash, which proves later what the log was now. */
export function auditWebhook(options: { url: string; secret: string; webhooks: WebhookPolicy }): AuditReceiver {
  const { url, secret, webhooks } = options;
  return {
    kind: 'WEBHOOK',
    deliver: async ({ entries, head }, signal) => {
      const body = JSON.stringify({ type: 'audit.entries', entries, head });
      const headers = { 'podyard-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
      await postWebhook(url, body, { webhooks, signal, context: null, headers });
    },
  };
}

/** Only the operator can set it, so it may be on any network, as a collector of traces may. */
const ANYWHERE = new WebhookPolicy({ allowPrivate: true, allowed: [] });

/** OTLP logs as JSON over HTTP. `headers`: the collector's, such as what authorizes. */
export function auditOtlp(url: string, headers: Readonly<Record<string, string>>): AuditReceiver {
  return {
    kind: 'OTLP',
    deliver: async (portion, signal) => {
      await postWebhook(url, otlpBody(portion), { webhooks: ANYWHERE, signal, context: null, headers: { ...headers } });
    },
  };
}
