import type { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import type { ModelOrigins } from '../../domain/models/model-origins.ts';
import { readFileByUrl } from './https.ts';
import { readHubModel } from './hub.ts';

/** Returns the clients of all origins. `hubUrl` has no slash at its end; `webhooks` says where else the server may go for users. */
export function createModelOrigins(options: { hubUrl: string; webhooks: WebhookPolicy }): ModelOrigins {
  return {
    read: (reference, token) =>
      reference.source === 'HUB'
        ? readHubModel(options.hubUrl, reference, token)
        : readFileByUrl(options.webhooks, reference, token),
  };
}
