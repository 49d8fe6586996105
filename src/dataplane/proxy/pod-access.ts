import { Failure } from '../../core/errors.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import { type Actor, isPermitted } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import { hashTextOnConnection } from '../connection-hash.ts';
import type { ClientExchange, RawHeaders } from '../wire/client-exchange.ts';
import type { HeaderList } from '../wire/header-list.ts';
import { joinedValues } from './header-rules.ts';

/** For clients whose `Authorization` is for the program in the pod. */
const KEY_HEADER = 'x-podyard-key';
/** What is withheld from a pod: the key is for Podyard. `Authorization` of a request to a public pod belongs to the pod. */
export const WITHHELD_KEY: ReadonlySet<string> = new Set([KEY_HEADER]);
const WITHHELD_BOTH: ReadonlySet<string> = new Set([KEY_HEADER, 'authorization']);

/** Beside `Bearer`, for browsers: they ask for a name and a password, and remember them for the pod's own origin. */
export const ASK_BROWSER: RawHeaders = [
  'WWW-Authenticate',
  'Basic realm="Podyard: API key as the password", charset="UTF-8"',
];

/** A key that opens a private pod, and the headers that the pod must not see. */
export interface Admission {
  keyId: KeyId;
  withheld: ReadonlySet<string>;
}

/**
 * Admits a request to a private pod of `owner`. Synchronous when the key is cached. Throws the same `unauthorized` for a
 * request without a key and for every key that may not read the pod, and `tooManyRequests` for the many unknown keys of an address.
 */
export function admitToPod(
  keyRing: Pick<KeyRing, 'peek' | 'authenticate'>,
  exchange: ClientExchange,
  pod: { id: string; owner: UserId },
): Admission | Promise<Admission> {
  const { key, withheld } = credentialsOf(exchange.headers);
  const check = (actor: Actor | undefined): Admission => {
    const isAdmitted =
      actor?.userId === pod.owner && isPermitted(actor, { area: 'pods', access: 'read', resourceId: pod.id });
    if (!isAdmitted) throw isPrivate();
    return { keyId: actor.keyId, withheld };
  };
  const known = keyRing.peek(key, hashTextOnConnection(exchange.connection, key));
  if (known) return check(known);
  const { remoteAddress, headers } = exchange;
  const peer = { remoteAddress, forwardedFor: joinedValues(headers, 'x-forwarded-for') };
  return keyRing.authenticate(key, peer).then(check);
}

/** Keeps an `Authorization` beside the pod's own header for the pod, unless it holds the key as well. */
function credentialsOf(headers: HeaderList): { key: string; withheld: ReadonlySet<string> } {
  const inAuthorization = keyIn(headers.get('authorization'));
  const own = headers.get(KEY_HEADER)?.trim();
  if (own) return { key: own, withheld: inAuthorization === own ? WITHHELD_BOTH : WITHHELD_KEY };
  if (inAuthorization === undefined) throw isPrivate();
  return { key: inAuthorization, withheld: WITHHELD_BOTH };
}

/** Returns the token of `Bearer`, or of `Basic` the password, or the name where the password is empty (`curl -u key:`). */
function keyIn(authorization: string | undefined): string | undefined {
  const [, scheme, value] = /^(bearer|basic) +(\S+)$/i.exec(authorization?.trim() ?? '') ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return value;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const at = text.indexOf(':');
  return (at < 0 ? text : text.slice(at + 1) || text.slice(0, at)) || undefined;
}

function isPrivate(): Failure {
  return new Failure(
    'unauthorized',
    'This pod is private: it needs an API key of its owner, as a bearer token or as the password of Basic authentication.',
  );
}
