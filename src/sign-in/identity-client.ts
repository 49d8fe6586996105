import type { Claims } from './claims.ts';
import type { Provider } from './read-providers.ts';

/** An identity that a provider asserts after a sign-in or a refresh. */
export interface Vouched {
  claims: Claims;
  /** The token with which the provider is asked again. */
  refreshToken: string | null;
  idToken: string | null;
}

/** Values that the answer of a provider has to match. */
export interface Checks {
  state: string;
  nonce: string;
  verifier: string;
}

/** Talks to one provider. Nothing is asked before the first sign-in, so a provider that is away keeps no server from starting. */
export interface IdentityClient {
  readonly provider: Provider;
  /** Returns where the browser signs in. */
  authorizationUrl(checks: Checks, redirectUri: string): Promise<URL>;
  /** Redeems the code in `answer`. Throws `unauthorized`, and `unavailable` if the provider does not answer. */
  redeem(answer: URL, checks: Checks): Promise<Vouched>;
  /** Asks again. Throws `unauthorized` if the provider vouches no longer, `unavailable` if it does not answer. */
  refresh(refreshToken: string, subject: string): Promise<Vouched>;
  /** Returns where the provider's own session ends; null if it has no such page. */
  endSessionUrl(idToken: string | null, returnTo: string): Promise<string | null>;
}

/** A client of a provider that also ends sessions by itself (OpenID Connect Back-Channel Logout 1.0). */
export interface BackChannelClient extends IdentityClient {
  /** Returns where the provider's keys are. */
  keysUrl(): Promise<string>;
}

/** True if the client's provider may end sessions by itself. */
export function hasBackChannel(client: IdentityClient): client is BackChannelClient {
  return 'keysUrl' in client;
}
