import { constants, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { Failure } from '../core/errors.ts';
import type { Claims } from './claims.ts';
import type { BackChannelClient } from './identity-client.ts';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const MAX_AGE_SECONDS = 10 * 60;
const TIMEOUT_MS = 10_000;
const MAX_TOKEN_LENGTH = 16_384;

/** Checks a signature. Only public-key algorithms: `none`, and secrets that a public key could be taken for, are not among them. */
type Verifier = (data: Buffer, key: KeyObject, signature: Buffer) => boolean;
const VERIFIERS: Record<string, { kty: string; verify: Verifier }> = {
  RS256: { kty: 'RSA', verify: (data, key, signature) => verify('sha256', data, key, signature) },
  PS256: {
    kty: 'RSA',
    verify: (data, key, signature) =>
      verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature),
  },
  ES256: {
    kty: 'EC',
    verify: (data, key, signature) => verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  },
  EdDSA: { kty: 'OKP', verify: (data, key, signature) => verify(null, data, key, signature) },
};

/** Whose sessions end: one of the provider's, or all of an account. */
export interface LogoutToken {
  subject: string | null;
  sid: string | null;
  /** Unique among the provider's tokens. */
  id: string;
}

/** Reads a logout token: signature, issuer, audience, age and event. Throws `badRequest`, as the specification wants it. */
export async function readLogoutToken(client: BackChannelClient, token: string): Promise<LogoutToken> {
  return checkClaims(client, await readSigned(await client.keysUrl(), token));
}

/** Returns the claims of a token that one of the keys at `url` has signed; nothing else of it is checked. Throws `badRequest`. */
export async function readSigned(url: string, token: string): Promise<Claims> {
  const [head = '', body = '', signature = '', ...more] = token.split('.');
  const { alg, kid } = parsePart(head);
  const algorithm = typeof alg === 'string' && Object.hasOwn(VERIFIERS, alg) ? VERIFIERS[alg] : undefined;
  if (algorithm === undefined || more.length > 0 || token.length > MAX_TOKEN_LENGTH) throw invalid();
  const keys = (await readKeys(url)).filter(
    (key) => key.kty === algorithm.kty && (kid === undefined || key.kid === kid),
  );
  const data = Buffer.from(`${head}.${body}`);
  const signed = Buffer.from(signature, 'base64url');
  const isSigned = keys.some((key) => algorithm.verify(data, createPublicKey({ key, format: 'jwk' }), signed));
  if (!isSigned) throw invalid();
  return parsePart(body);
}

function checkClaims({ provider }: BackChannelClient, claims: Claims): LogoutToken {
  const { iss, aud, iat, exp, jti, sub, sid, nonce, events } = claims;
  const now = Date.now() / 1000;
  const isForUs = Array.isArray(aud) ? aud.includes(provider.clientId) : aud === provider.clientId;
  const isTimely =
    typeof iat === 'number' && Math.abs(now - iat) < MAX_AGE_SECONDS && (exp === undefined || Number(exp) > now - 60);
  const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, LOGOUT_EVENT);
  const subject = typeof sub === 'string' ? sub : null;
  const session = typeof sid === 'string' ? sid : null;
  if (trimmed(iss) !== trimmed(provider.issuer) || !isForUs || !isTimely || !isLogout) throw invalid();
  if (nonce !== undefined || typeof jti !== 'string' || (subject === null && session === null)) throw invalid();
  return { subject, sid: session, id: jti };
}

function trimmed(issuer: unknown): string {
  return String(issuer).replace(/\/$/, '');
}

/** The provider's keys, as they are now. */
async function readKeys(url: string): Promise<JsonWebKey[]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
    const { keys } = (await response.json()) as { keys: JsonWebKey[] };
    return keys;
  } catch (cause) {
    throw new Failure('unavailable', "the provider's keys could not be read", { cause, retryAfterSeconds: 10 });
  }
}

function parsePart(part: string): Claims {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Claims;
  } catch {
    // Refused below.
  }
  throw invalid();
}

function invalid(): Failure {
  return new Failure('badRequest', 'logout_token: is not a valid logout token of this provider');
}
