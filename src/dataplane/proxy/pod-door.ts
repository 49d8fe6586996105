import { hash, randomBytes } from 'node:crypto';
import { clientNetwork, type Peer } from '../../core/client-address.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { type Actor, isPermitted } from '../../domain/access/actor.ts';
import { GuessLimiter } from '../../domain/access/guess-limiter.ts';
import type { Credential, KeyRing } from '../../domain/access/key-ring.ts';
import { type PodPort, podCookieSecret } from '../../domain/sessions/pod-sign-ins.ts';
import { hashTextOnConnection } from '../../http/floods/connection-hash.ts';
import { isSameOrigin, readCookie, SECURE_PREFIX, SESSION_COOKIE, setCookie } from '../../http/session-cookie.ts';
import type { ClientExchange, RawHeaders } from '../wire/client-exchange.ts';
import type { HeaderList } from '../wire/header-list.ts';
import { joinedValues } from './header-rules.ts';
import { refuse } from './refuse.ts';

/** For clients whose `Authorization` is for the program in the pod. */
const KEY_HEADER = 'x-podyard-key';
/** Headers that a pod does not get: the key is for Podyard. `Authorization` of a request to a public pod belongs to the pod. */
export const WITHHELD_KEY: ReadonlySet<string> = new Set([KEY_HEADER]);
const WITHHELD_BOTH: ReadonlySet<string> = new Set([KEY_HEADER, 'authorization']);
const KEY_PREFIX = 'pyk_';

/** Beside `Bearer`, for programs that send a name and a password only once they are asked. */
const ASK_PASSWORD: RawHeaders = [
  'WWW-Authenticate',
  'Basic realm="Podyard: API key as the password", charset="UTF-8"',
];

/** Where the console brings a browser back to, with a ticket. The pod never sees this path while it is private. */
const POD_SIGN_IN_PATH = '/.well-known/podyard/sign-in';
/** The cookie that lets a browser in, and the one that it comes back with: each for one port of one pod. */
const COOKIE = `${SESSION_COOKIE}pod`;
const TRY_COOKIE = `${SESSION_COOKIE}pod_try`;
const TRY_MS = 10 * 60_000;
/** The longest that browsers keep a cookie. It ends with its session, whatever they keep. */
const COOKIE_MS = 400 * 86_400_000;
const MAX_PATH = 1500;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface PodDoorDeps {
  monotonic: Clock;
  keyRing: Pick<KeyRing, 'peek' | 'authenticate' | 'teams' | 'podSessions' | 'isVouched' | 'addressOf'>;
  /** Returns the cookie that a ticket becomes, once. */
  useTicket: (ticket: string, at: PodPort & { state: string; network: string | null }) => Promise<string | undefined>;
  /** Returns the console's URL, without a final slash, for a browser that reaches Podyard under a host. */
  consoleUrlFor: (host: string) => string;
}

/** An HTTP port of a private pod. */
export interface PrivatePort extends PodPort {
  owner: UserId;
}

/** The caller admitted to a private pod, and the headers that the pod must not see. */
export interface Admission {
  actor: Credential;
  withheld: ReadonlySet<string>;
}

/** True for a browser that comes back from the console. */
export function isSignInPath({ target }: ClientExchange): boolean {
  return target.startsWith(POD_SIGN_IN_PATH) && /^(\?|$)/.test(target.slice(POD_SIGN_IN_PATH.length));
}

/**
 * Controls access to private pods: for keys of the owner, and for browsers whose console session may read the pod
 * (docs/decisions/0129-private-pods-in-a-browser.md).
 */
export class PodDoor {
  readonly #deps: PodDoorDeps;
  readonly #guesses: GuessLimiter;

  constructor(deps: PodDoorDeps) {
    this.#deps = deps;
    this.#guesses = new GuessLimiter(deps.monotonic);
  }

  /**
   * Synchronous when what the request came with is cached. Throws the same `unauthorized` for a request without a key and for every key
   * and session that may not read the pod, and `tooManyRequests` for the many unknown keys of an address.
   */
  admit(exchange: ClientExchange, pod: PrivatePort): Admission | Promise<Admission> {
    const secret = exchange.headers.get(KEY_HEADER) ? null : this.#cookieSecret(exchange, pod);
    if (secret === null) return this.#admitKey(exchange, pod);
    const { podSessions } = this.#deps.keyRing;
    const known = podSessions.peek(secret, hashTextOnConnection(exchange.connection, secret));
    if (known !== undefined && known.voucher === undefined) return this.#check(known, pod, this.#withheldOf(exchange));
    return podSessions.authenticate(secret, peerOf(exchange)).then(async (actor) => {
      const { remoteAddress, headers } = exchange;
      const request = { headers: headers.record, socket: { remoteAddress } };
      if (!actor || !(await this.#deps.keyRing.isVouched(actor, request))) return this.#admitKey(exchange, pod);
      return this.#check(actor, pod, this.#withheldOf(exchange));
    });
  }

  /** Exchanges the ticket of the address for a cookie, and leads to the page that was asked for. Returns the status. */
  async letIn(exchange: ClientExchange, pod: PrivatePort): Promise<number> {
    const { headers, target } = exchange;
    const isSecure = this.#isSecure(exchange);
    const [, nonce, path] =
      /^([\w-]{43})\.([\w-]*)$/.exec(readCookie(headers.record.cookie, name(TRY_COOKIE, isSecure)) ?? '') ?? [];
    const ticket = new URLSearchParams(target.slice(POD_SIGN_IN_PATH.length)).get('ticket');
    if (exchange.method !== 'GET' || nonce === undefined || !ticket) throw signInAgain();
    const network = isSecure ? null : this.#networkOf(exchange);
    const end = await this.#guesses.begin(this.#networkOf(exchange));
    let cookie: string | undefined;
    try {
      cookie = await this.#deps.useTicket(ticket, { ...pod, state: stateOf(nonce), network });
    } finally {
      end(cookie === undefined);
    }
    if (cookie === undefined) throw signInAgain();
    const answer = [
      ...['Location', safePath(Buffer.from(path!, 'base64url').toString('utf8'))],
      ...['Set-Cookie', setCookie(name(COOKIE, isSecure), cookie, { isSecure, path: '/', maxAgeMs: COOKIE_MS })],
      ...['Set-Cookie', setCookie(name(TRY_COOKIE, isSecure), '', { isSecure, path: '/', maxAgeMs: 0 })],
      ...['Cache-Control', 'no-store', 'Referrer-Policy', 'no-referrer'],
    ];
    exchange.answer(302, 'Found', answer, '');
    return 302;
  }

  /** Answers what was not admitted: to a browser's navigation with a page that leads to the console, to others with a record. */
  refuse(exchange: ClientExchange, pod: PrivatePort, failure: Failure): void {
    const { headers, method } = exchange;
    const isPage = headers.get('accept')?.includes('text/html') === true;
    // A browser would ask for a password instead of showing the page.
    const asked = isPage && headers.get('authorization') === undefined ? [] : ASK_PASSWORD;
    const mode = headers.get('sec-fetch-mode') ?? 'navigate';
    if (!isPage || method !== 'GET' || mode !== 'navigate') {
      refuse(exchange, failure, asked);
      return;
    }
    const isSecure = this.#isSecure(exchange);
    const tryName = name(TRY_COOKIE, isSecure);
    // The same for all tabs, or only the last one could come back.
    const [nonce = randomBytes(32).toString('base64url')] =
      /^[\w-]{43}(?=\.)/.exec(readCookie(headers.record.cookie, tryName) ?? '') ?? [];
    const value = `${nonce}.${Buffer.from(pathOf(exchange)).toString('base64url')}`;
    const host = headers.get('host') ?? '';
    const query = new URLSearchParams({ pod: pod.id, port: String(pod.port), state: stateOf(nonce) });
    const cookie = setCookie(tryName, value, { isSecure, path: '/', maxAgeMs: TRY_MS });
    refuse(exchange, failure, [...asked, 'Set-Cookie', cookie], {
      text: 'Sign in with the console',
      url: `${this.#deps.consoleUrlFor(host.slice(host.indexOf('.') + 1))}/#/open-pod?${query}`,
    });
  }

  #admitKey(exchange: ClientExchange, pod: PrivatePort): Admission | Promise<Admission> {
    const { keyRing } = this.#deps;
    const { key, withheld } = credentialsOf(exchange.headers);
    const known = keyRing.peek(key, hashTextOnConnection(exchange.connection, key));
    if (known) return this.#check(known, pod, withheld);
    return keyRing.authenticate(key, peerOf(exchange)).then((actor) => this.#check(actor, pod, withheld));
  }

  #check(actor: Actor | undefined, pod: PrivatePort, withheld: ReadonlySet<string>): Admission | Promise<Admission> {
    if (actor && actor.userId !== pod.owner) {
      const { teams } = this.#deps.keyRing;
      return teams.actAs(actor, pod.owner).then((member) => this.#check(member, pod, withheld), throwPrivate);
    }
    if (!actor || !isPermitted(actor, { area: 'pods', access: 'read', resourceId: pod.id })) throw isPrivate();
    return { actor, withheld };
  }

  /** Returns the secret by which the ring finds a browser's cookie; null without one, and for requests of another origin's page. */
  #cookieSecret(exchange: ClientExchange, pod: PrivatePort): string | null {
    const { cookie } = exchange.headers.record;
    if (!cookie?.includes(COOKIE) || !isOwnRequest(exchange)) return null;
    const secure = readCookie(cookie, name(COOKIE, true));
    if (secure !== undefined) return podCookieSecret(secure, pod, null);
    const plain = readCookie(cookie, name(COOKIE, false));
    return plain === undefined ? null : podCookieSecret(plain, pod, this.#networkOf(exchange));
  }

  /** `Authorization` is the pod's own beside a cookie, unless it holds a key of ours. */
  #withheldOf({ headers }: ClientExchange): ReadonlySet<string> {
    const key = keyIn(headers.get('authorization'));
    const isOurs = key !== undefined && (key.startsWith(KEY_PREFIX) || this.#deps.keyRing.peek(key) !== undefined);
    return isOurs ? WITHHELD_BOTH : WITHHELD_KEY;
  }

  /** Cookies know no ports: over plain http, a program on another port of the name gets them too, and sends from elsewhere. */
  #networkOf(exchange: ClientExchange): string {
    return clientNetwork(this.#deps.keyRing.addressOf(peerOf(exchange)));
  }

  #isSecure({ isSecure, isTrusted, headers }: ClientExchange): boolean {
    if (isSecure || this.#deps.consoleUrlFor(headers.get('host') ?? '').startsWith('https:')) return true;
    return isTrusted && /^\s*https\s*(,|$)/.test(headers.get('x-forwarded-proto') ?? '');
  }
}

function name(cookie: string, isSecure: boolean): string {
  return `${isSecure ? SECURE_PREFIX : ''}${cookie}`;
}

/** Returns what the console learns of a nonce, which itself stays in the browser's cookie. */
function stateOf(nonce: string): string {
  return hash('sha256', nonce, 'base64url');
}

/**
 * True for what the user or a page of the pod itself asked for, and for links to it. Other pods are the same site, so that `SameSite` does
 * not keep their pages from sending the cookie.
 */
function isOwnRequest({ method, headers: { record }, upgrade }: ClientExchange): boolean {
  const isSafe = SAFE_METHODS.has(method) && upgrade === null;
  const site = record['sec-fetch-site'];
  const isLink = isSafe && record['sec-fetch-mode'] === 'navigate' && record['sec-fetch-dest'] === 'document';
  return site === 'none' || (site !== undefined && isLink) || isSameOrigin(record, isSafe);
}

function peerOf({ remoteAddress, headers }: ClientExchange): Peer {
  return { remoteAddress, forwardedFor: joinedValues(headers, 'x-forwarded-for') };
}

/** Where the browser wanted to go. */
function pathOf(exchange: ClientExchange): string {
  return isSignInPath(exchange) || exchange.target.length > MAX_PATH ? '/' : exchange.target;
}

/** A path of this host, whatever the cookie says. */
function safePath(path: string): string {
  return /^\/(?![/\\])[!-~]*$/.test(path) ? path : '/';
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

/** Answers a caller outside the team as any other caller without access. */
function throwPrivate(error: unknown): never {
  throw error instanceof Failure && error.kind === 'forbidden' ? isPrivate() : error;
}

function isPrivate(): Failure {
  return new Failure(
    'unauthorized',
    'This pod is private: it needs an API key of its owner, as a bearer token or as the password of Basic authentication.',
  );
}

function signInAgain(): Failure {
  return new Failure('unauthorized', 'This sign-in was used, has expired or began in another browser.');
}
