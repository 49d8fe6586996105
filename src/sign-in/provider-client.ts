import * as oidc from 'openid-client';
import { Failure, messageOf } from '../core/errors.ts';
import type { BackChannelClient, Checks, Vouched } from './identity-client.ts';
import type { Provider } from './read-providers.ts';

/** How long what a provider says about itself is believed. Its keys are read for each sign-in, so that a rotation is noticed at once. */
const METADATA_MS = 10 * 60_000;
const TIMEOUT_SECONDS = 10;
/** How far the clocks of provider and server may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** Talks OpenID Connect with one provider. */
export class ProviderClient implements BackChannelClient {
  readonly provider: Provider;
  #metadata: { value: oidc.ServerMetadata; untilMs: number } | undefined;

  constructor(provider: Provider) {
    this.provider = provider;
  }

  /** Returns where the browser signs in. `checks`: what the answer has to match. */
  async authorizationUrl(checks: Checks, redirectUri: string): Promise<URL> {
    return oidc.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope: this.provider.scopes,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
    });
  }

  /** Redeems the code in `answer`, and checks the id token's signature, issuer, audience, nonce and times. Throws `unauthorized`. */
  async redeem(answer: URL, checks: Checks): Promise<Vouched> {
    const configuration = await this.#configuration();
    const tokens = await oidc
      .authorizationCodeGrant(configuration, answer, {
        pkceCodeVerifier: checks.verifier,
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        idTokenExpected: true,
      })
      .catch((cause) => {
        throw this.#refused(cause);
      });
    return this.#vouched(configuration, tokens);
  }

  /** Asks again. Throws `unauthorized` if the provider vouches no longer, `unavailable` if it does not answer. */
  async refresh(refreshToken: string, subject: string): Promise<Vouched> {
    const configuration = await this.#configuration();
    const tokens = await oidc.refreshTokenGrant(configuration, refreshToken).catch((cause) => {
      throw this.#refused(cause);
    });
    const vouched = await this.#vouched(configuration, tokens, subject);
    if (vouched.claims.sub !== subject) throw this.#refused(new Error('the refresh token is of another account'));
    return { ...vouched, refreshToken: vouched.refreshToken ?? refreshToken };
  }

  /** Returns where the provider's own session ends; null if it has no such page. */
  async endSessionUrl(idToken: string | null, returnTo: string): Promise<string | null> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    return oidc.buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: returnTo,
      ...(idToken === null ? {} : { id_token_hint: idToken }),
    }).href;
  }

  /** Returns where the provider's keys are. */
  async keysUrl(): Promise<string> {
    const url = (await this.#configuration()).serverMetadata().jwks_uri;
    if (url === undefined) throw this.#away(new Error('it names no jwks_uri'));
    return url;
  }

  /** The claims of the id token, and what only the userinfo endpoint says. */
  async #vouched(
    configuration: oidc.Configuration,
    tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
    subject = tokens.claims()?.sub,
  ): Promise<Vouched> {
    const asked =
      subject !== undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
        ? await oidc.fetchUserInfo(configuration, tokens.access_token, subject).catch((cause) => {
            throw this.#refused(cause);
          })
        : {};
    return {
      claims: { ...asked, ...tokens.claims() },
      refreshToken: tokens.refresh_token ?? null,
      idToken: tokens.id_token ?? null,
    };
  }

  /** A new one each time: it would keep the provider's keys. */
  async #configuration(): Promise<oidc.Configuration> {
    const { clientId, clientSecret } = this.provider;
    const metadata = await this.#readMetadata();
    const client = { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic');
    const authentication = isBasic ? oidc.ClientSecretBasic(clientSecret) : oidc.ClientSecretPost(clientSecret);
    const configuration = new oidc.Configuration(metadata, clientId, client, authentication);
    configuration.timeout = TIMEOUT_SECONDS;
    oidc.enableNonRepudiationChecks(configuration);
    if (this.provider.issuer.startsWith('http:')) oidc.allowInsecureRequests(configuration);
    return configuration;
  }

  async #readMetadata(): Promise<oidc.ServerMetadata> {
    const now = performance.now();
    if (this.#metadata !== undefined && this.#metadata.untilMs > now) return this.#metadata.value;
    const { issuer, clientId } = this.provider;
    const options = {
      timeout: TIMEOUT_SECONDS,
      ...(issuer.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {}),
    };
    try {
      const found = await oidc.discovery(new URL(issuer), clientId, undefined, undefined, options);
      const value = { ...found.serverMetadata() };
      this.#metadata = { value, untilMs: now + METADATA_MS };
      return value;
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  /** Logs the cause; people read only what they can do about it. */
  #refused(cause: unknown): Failure {
    if (isNoAnswer(cause)) return this.#away(cause);
    const { title } = this.provider;
    const isClock = /timestamp|"exp"|"iat"|"nbf"/i.test(messageOf(cause));
    const text = isClock
      ? `The clocks of ${title} and of this server differ by more than a minute: have an admin set both by NTP.`
      : `${title} did not confirm this sign-in, or it was used before: try again.`;
    return new Failure('unauthorized', text, { cause });
  }

  #away(cause: unknown): Failure {
    const text = `${this.provider.title} does not answer as it should. Browsers that are signed in and API keys are not affected: try again later.`;
    return new Failure('unavailable', text, { cause, retryAfterSeconds: 10 });
  }
}

/** True if the provider was not reached, or has trouble of its own. */
function isNoAnswer(cause: unknown): boolean {
  if (cause instanceof oidc.ResponseBodyError) return cause.status >= 500 || cause.status === 429;
  if (!(cause instanceof oidc.ClientError)) return cause instanceof TypeError;
  const { code } = cause;
  return code === 'OAUTH_TIMEOUT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_RESPONSE_IS_NOT_JSON';
}
