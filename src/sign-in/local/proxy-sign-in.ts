/**
 * Sign-in by a proxy in front of the server (docs/decisions/0117-local-accounts.md): a header with a name, or a signed assertion. Both
 * count only on a connection from a trusted proxy, because other clients can send any header.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { TrustedAddresses } from '../../core/client-address.ts';
import { Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Vouchers } from '../../domain/access/key-ring.ts';
import type { Claims } from '../claims.ts';
import { readSigned } from '../logout-token.ts';
import type { Provider } from '../read-providers.ts';

/** How a proxy names the user it has signed in, from the operator's file. Header names are in lower case. */
export interface ProxySettings {
  /** On the button. */
  title: string;
  /** Has the user's name, or the assertion. */
  header: string;
  emailHeader: string | null;
  nameHeader: string | null;
  /** Its value is a list with commas. */
  groupsHeader: string | null;
  /** The issuer and audience of assertions, and the URL of their keys; null: `header` is trusted as it is. */
  assertion: { issuer: string; audience: string; keysUrl: string } | null;
  /** How its groups map to roles and teams. */
  provider: Provider;
}

interface ProxiedRequest {
  readonly headers: Readonly<IncomingHttpHeaders>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

const MAX_ASSERTIONS = 1_000;
const MAX_TEXT = 200;
/** How far the clocks may differ. */
const TOLERANCE_SECONDS = 60;

export class ProxySignIn implements Vouchers {
  readonly settings: ProxySettings;
  readonly #deps: { trustedProxies: TrustedAddresses; logger: Pick<Logger, 'warn'> };
  /** Verified assertions, until they expire: a browser sends the same one with each request. */
  readonly #verified = new BoundedMap<string, Claims & { exp: number }>(MAX_ASSERTIONS);
  #hasWarned = false;

  constructor(settings: ProxySettings, deps: { trustedProxies: TrustedAddresses; logger: Pick<Logger, 'warn'> }) {
    this.settings = settings;
    this.#deps = deps;
  }

  /** Returns the subject that the proxy asserts for this request; null if it asserts none. */
  async subjectOf(request: ProxiedRequest): Promise<string | null> {
    const claims = await this.claimsOf(request);
    return claims === null ? null : String(claims.sub);
  }

  /** The same with what the proxy says about them. */
  async claimsOf({ headers, socket }: ProxiedRequest): Promise<Claims | null> {
    const { header, assertion } = this.settings;
    const value = textOf(headers, header);
    if (value === null) return null;
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:/i, '');
    if (!this.#deps.trustedProxies.has(address)) return this.#ignore(address);
    if (assertion !== null) return this.#verify(value, assertion);
    // A header that came twice is joined with a comma: the first one may be the client's.
    return value.length > MAX_TEXT || value.includes(',') ? null : this.#claimsIn(value, headers);
  }

  #ignore(address: string): null {
    if (this.#hasWarned) return null;
    this.#hasWarned = true;
    this.#deps.logger.warn(
      { header: this.settings.header, clientAddress: address },
      'the header that signs people in came from an address that is not in --trusted-proxies, and is ignored',
    );
    return null;
  }

  #claimsIn(subject: string, headers: Readonly<IncomingHttpHeaders>): Claims {
    const { emailHeader, nameHeader, groupsHeader } = this.settings;
    const email = emailHeader === null ? null : textOf(headers, emailHeader);
    const groups = groupsHeader === null ? null : textOf(headers, groupsHeader);
    return {
      sub: subject,
      preferred_username: (nameHeader === null ? null : textOf(headers, nameHeader)) ?? subject,
      email: email ?? (subject.includes('@') ? subject : null),
      email_verified: true, // the proxy is the operator's own
      groups: groups?.split(',').map((group) => group.trim()) ?? [],
    };
  }

  async #verify(token: string, wanted: NonNullable<ProxySettings['assertion']>): Promise<Claims | null> {
    const now = Date.now() / 1000;
    const known = this.#verified.get(token);
    if (known !== undefined) return known.exp > now - TOLERANCE_SECONDS ? known : null;
    const claims = await readSigned(wanted.keysUrl, token).catch((error: unknown) => {
      if (error instanceof Failure && error.kind === 'badRequest') return null;
      throw error; // the keys cannot be read: try again
    });
    if (claims === null || !isForUs(claims, wanted, now)) return null;
    const vouched = {
      preferred_username: claims.name ?? claims.email,
      ...claims,
      email_verified: true,
      exp: Number(claims.exp),
    };
    this.#verified.set(token, vouched);
    return vouched;
  }
}

function isForUs(claims: Claims, wanted: { issuer: string; audience: string }, now: number): boolean {
  const { iss, aud, exp, nbf, sub } = claims;
  const isAudience = Array.isArray(aud) ? aud.includes(wanted.audience) : aud === wanted.audience;
  const isTimely =
    typeof exp === 'number' &&
    exp > now - TOLERANCE_SECONDS &&
    (nbf === undefined || Number(nbf) <= now + TOLERANCE_SECONDS);
  const isSubject = typeof sub === 'string' && sub !== '' && sub.length <= MAX_TEXT && !sub.includes('\0');
  return iss === wanted.issuer && isAudience && isTimely && isSubject;
}

function textOf(headers: Readonly<IncomingHttpHeaders>, name: string): string | null {
  const value = headers[name];
  const text = Array.isArray(value) ? value.join(',') : value;
  return text?.trim() || null;
}
