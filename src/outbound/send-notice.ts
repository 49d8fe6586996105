import { createHmac } from 'node:crypto';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { DestinationAddress, DestinationKind, NoticeMessage, NoticeSender } from '../domain/notices/notice.ts';
import { postWebhook } from './post-webhook.ts';
import type { MailSettings } from './read-mail-settings.ts';
import { mailText, slackBody, teamsBody, webhookBody } from './render-notice.ts';
import { sendMail } from './send-mail.ts';

const MAX_MS = 30_000;

const BODIES: Record<Exclude<DestinationKind, 'EMAIL'>, (message: NoticeMessage, publicUrl: string) => string> = {
  WEBHOOK: webhookBody,
  SLACK: slackBody,
  TEAMS: teamsBody,
};

/** Sends notices by mail and by webhook; the latter go nowhere but where webhooks may go. `publicUrl`: of the links. */
export class NoticePost implements NoticeSender {
  readonly mail: MailSettings | null;
  readonly #webhooks: WebhookPolicy;
  #publicUrl = '';

  constructor({
    mail,
    webhooks,
    publicUrl,
  }: { mail: MailSettings | null; webhooks: WebhookPolicy; publicUrl: string }) {
    this.mail = mail;
    this.#webhooks = webhooks;
    this.useUrl(publicUrl);
  }

  /** Has links lead to another address: a port that is chosen at the start is known only then. */
  useUrl(publicUrl: string): void {
    this.#publicUrl = publicUrl.replace(/\/$/, '');
  }

  async send(
    { kind, address, secret }: DestinationAddress,
    message: NoticeMessage,
    signal: AbortSignal,
  ): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]);
    if (kind === 'EMAIL') {
      if (this.mail === null) throw new Error('this server sends no mail: its operator has to set --mail');
      return sendMail(this.mail, { id: message.id, to: address, ...mailText(message, this.#publicUrl) }, limit);
    }
    if (secret === null) throw new Error('its URL is missing: add the destination again');
    const body = BODIES[kind](message, this.#publicUrl);
    const headers = secret.signing === null ? {} : signatureOf(secret.signing, body);
    await postWebhook(secret.url, body, { webhooks: this.#webhooks, signal: limit, context: null, headers });
  }
}

/** Signs the time with the body, so that a receiver can refuse what is replayed later. */
function signatureOf(secret: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const hmac = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'podyard-timestamp': timestamp, 'podyard-signature': `sha256=${hmac}` };
}
