import type { IncomingMessage } from 'node:http';
import type { TrustedAddresses } from '../core/client-address.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { SecretBox } from '../core/secret-box.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { Context } from '../domain/context.ts';
import type { SessionLifetime } from '../domain/sessions/session-store.ts';
import type { IdentityClient } from './identity-client.ts';
import type { PasswordHasher } from './local/password-hasher.ts';
import type { ProxySignIn } from './local/proxy-sign-in.ts';
import type { OwnSignIn } from './local/read-own-sign-in.ts';

/** The dependencies of signing in. */
export interface SignInDeps extends Context {
  keyRing: KeyRing;
  secretBox: SecretBox;
  logger: Logger;
  clock: Clock;
  facts: { takesSeveralUsers: boolean };
  trustedProxies: TrustedAddresses;
  /** Returns the URL of this server as the client of a request reaches it, without a trailing slash. */
  publicUrlFor: (request: IncomingMessage) => string;
  /** The name under which pods are served. */
  podHost: string;
  lifetime: SessionLifetime;
  /** The operator's settings beside providers. */
  own: Pick<OwnSignIn, 'isLocalOn'>;
  /** Null: no proxy signs people in. */
  proxy: ProxySignIn | null;
  hasher: PasswordHasher;
  /** By name. */
  clients: ReadonlyMap<string, IdentityClient>;
}
