/** Asks how large a file is that a user names by URL. The server goes only where the policy for webhooks permits it. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Failure, messageOf } from '../../core/errors.ts';
import { refuseUpgrade } from '../../core/node-http.ts';
import { type WebhookPolicy, WebhookRefused } from '../../domain/jobs/webhook-policy.ts';
import type { OriginModel } from '../../domain/models/model-origins.ts';
import type { ModelReference } from '../../domain/models/model-reference.ts';

type FileReference = Extract<ModelReference, { source: 'HTTPS' }>;

/** For all requests about one file. */
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;

/**
 * Returns the model that is one file, with the digest that its user gives: it is compared when the file is fetched. Only the first
 * host gets the token. Throws as `ModelOrigins.read`.
 */
export async function readFileByUrl(
  webhooks: WebhookPolicy,
  { url, sha256 }: FileReference,
  token: string | null,
  send = httpsRequest,
): Promise<OriginModel> {
  const path = fileNameOf(url);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let at = new URL(url);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const own = at.origin === new URL(url).origin ? token : null;
    const { statusCode = 0, headers } = await head(webhooks, at, { token: own, signal, send });
    if (statusCode >= 300 && statusCode < 400 && headers.location && URL.canParse(headers.location, at.href)) {
      at = new URL(headers.location, at);
      if (at.protocol !== 'https:') throw new Failure('badRequest', `${url} redirects to an address without TLS`);
      continue;
    }
    if (statusCode === 401 || statusCode === 403)
      throw new Failure('badRequest', `${url} may not be read: it is answered with status ${statusCode}`);
    if (statusCode === 404 || statusCode === 410) throw new Failure('badRequest', `${url} is not there`);
    if (statusCode !== 200) throw new Failure('unavailable', `${url} is answered with status ${statusCode}`);
    const size = Number(headers['content-length'] ?? NaN);
    if (!Number.isSafeInteger(size)) throw new Failure('badRequest', `${url}: its server does not say how large it is`);
    const digest = `sha256:${sha256}` as const;
    return { source: 'HTTPS', name: url, commit: digest, files: [{ path, size, digest }], task: null };
  }
  throw new Failure('badRequest', `${url} redirects more than ${MAX_REDIRECTS} times`);
}

/** Throws `badRequest` for a name that could not be a file's in any folder. */
function fileNameOf(url: string): string {
  try {
    const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1)!);
    if (!['', '.', '..'].includes(name) && !/[\p{Cc}/\\]/u.test(name)) return name;
  } catch {} // not UTF-8
  throw new Failure('badRequest', `${url} does not end with the name of a file`);
}

async function head(
  webhooks: WebhookPolicy,
  url: URL,
  { token, signal, send }: { token: string | null; signal: AbortSignal; send: typeof httpsRequest },
): Promise<IncomingMessage> {
  try {
    const { address, family } = await Promise.race([webhooks.resolve(url), rejectOn(signal)]);
    const call = send(url, {
      method: 'HEAD',
      headers: { 'user-agent': 'Podyard', ...(token && { authorization: `Bearer ${token}` }) },
      lookup: (_name, options, done) => (options.all ? done(null, [{ address, family }]) : done(null, address, family)),
      agent: false,
      signal,
    });
    refuseUpgrade(call).end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    return response;
  } catch (cause) {
    if (cause instanceof WebhookRefused) {
      throw new Failure(
        'badRequest',
        cause.message.replaceAll(/webhooks (never|do not) reach/g, 'models never come from'),
      );
    }
    const why = signal.aborted ? `does not answer within ${TIMEOUT_MS / 1_000} seconds` : 'cannot be reached';
    throw new Failure('unavailable', `${url.host} ${why}: try again later`, { cause: new Error(messageOf(cause)) });
  }
}

/** A name whose servers do not answer takes longer than a request may. */
async function rejectOn(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  await once(signal, 'abort');
  throw signal.reason;
}
