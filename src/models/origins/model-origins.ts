import type { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import type { ModelOrigins } from '../../domain/models/model-origins.ts';
import { readFileByUrl } from './https.ts';
import { readHubModel } from './hub.ts';
import { readArtifact } from './oci.ts';
import { readObjectModel } from './s3.ts';

/** Returns the clients of all origins. `hubUrl` has no slash at its end; `webhooks` says where else the server may go for users. */
export function createModelOrigins(options: { hubUrl: string; webhooks: WebhookPolicy }): ModelOrigins {
  const { hubUrl, webhooks } = options;
  return {
    read: async (reference, token) => {
      switch (reference.source) {
        case 'HUB':
          return readHubModel(hubUrl, reference, token);
        case 'HTTPS':
          return readFileByUrl(webhooks, reference, token);
        case 'S3':
          return readObjectModel(webhooks, reference, token);
        case 'OCI':
          return readArtifact(webhooks, reference, token);
      }
    },
  };
}
