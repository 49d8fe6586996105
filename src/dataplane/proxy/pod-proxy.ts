import type { Clock } from '../../core/clock.ts';
import { FAILURES, Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import { type Actor, isPermitted } from '../../domain/access/actor.ts';
import type { Credential, KeyRing } from '../../domain/access/key-ring.ts';
import { keyEnded } from '../../http/authenticate.ts';
import { hashTextOnConnection } from '../../http/floods/connection-hash.ts';
import { logFailure } from '../../http/problem.ts';
import { toFailure } from '../../http/to-failure.ts';
import { EntryCache } from '../entry-cache.ts';
import type { ClientExchange, RawHeaders } from '../wire/client-exchange.ts';
import type { HeaderList } from '../wire/header-list.ts';
import { type Forwarded, type ForwardOutcome, type ForwardSettings, forward, statusOf } from './forward.ts';
import { joinedValues } from './header-rules.ts';
import { refuse } from './refuse.ts';
import { type ConnectFailure, Upstream } from './upstream.ts';

/** A pod as the proxy knows it. */
export interface PodRoute {
  isRunning: boolean;
  httpPorts: readonly number[];
  /** The owner of a private pod, whose keys open it; null: everybody may connect. */
  privateTo: UserId | null;
}

export interface PodProxyOptions {
  bus: Pick<Bus, 'subscribe'>;
  monotonic: Clock;
  logger: Logger;
  metrics: Metrics;
  keyRing: Pick<KeyRing, 'peek' | 'authenticate' | 'onEnd' | 'teams'>;
  settings: ForwardSettings;
  findRoute: (podId: string) => Promise<PodRoute | undefined>;
  /** Resolves where a port of a running pod is; null when the pod does not listen there. */
  reach: (podId: string, port: number) => Promise<{ host: string; port: number } | null>;
}

/** Unused upstreams are closed after this. */
const FORGET_AFTER_MS = 60_000;

/**
 * Forwards requests to the HTTP ports of pods (docs/interface/queue.md, "Pod proxy"). An unknown pod, a stopped one and a
 * closed port all get the same 404, which reveals nothing; a private pod needs a key of its owner.
 */
export class PodProxy {
  readonly #deps: PodProxyOptions;
  readonly #routes: EntryCache<PodRoute>;
  /** Pod → port → its connections. */
  readonly #upstreams = new Map<string, Map<number, { upstream: Upstream; usedAt: number }>>();
  /** Streams and tunnels that were opened without a key, by pod: cut when it becomes private. */
  readonly #open = new Map<string, Set<Forwarded>>();
  readonly #unsubscribe: () => void;
  readonly #sweep: NodeJS.Timeout;

  constructor(options: PodProxyOptions) {
    this.#deps = options;
    this.#routes = new EntryCache({ monotonic: options.monotonic, load: options.findRoute });
    this.#unsubscribe = options.bus.subscribe('pod', (podId) => {
      this.#drop(podId);
      void this.#cutStrangers(podId);
    });
    this.#sweep = setInterval(() => this.#forgetUnused(), FORGET_AFTER_MS).unref();
  }

  stop(): void {
    this.#unsubscribe();
    clearInterval(this.#sweep);
    for (const podId of this.#upstreams.keys()) this.#drop(podId);
  }

  /** Serves one request. Never throws. */
  async handle(exchange: ClientExchange, podId: string, port: number): Promise<void> {
    const startedAt = performance.now();
    const status = await this.#serve(exchange, podId, port);
    this.#deps.metrics.proxyEnded('pod', status, performance.now() - startedAt);
  }

  /** Returns the status that the client got. */
  async #serve(exchange: ClientExchange, podId: string, port: number): Promise<number> {
    try {
      const found = this.#routes.find(podId);
      const route = found instanceof Promise ? await found : found;
      if (!route?.isRunning || !route.httpPorts.includes(port)) throw noSuchPort();
      const admitted = route.privateTo === null ? null : this.#admit(exchange, podId, route.privateTo);
      const admission = admitted instanceof Promise ? await admitted : admitted;
      const outcome = await this.#forward(exchange, podId, port, admission);
      if (outcome.kind === 'notConnected') throw notConnected(outcome.reason, port);
      return statusOf(outcome);
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#deps.logger, failure, { podId, port });
      refuse(exchange, failure, failure.kind === 'unauthorized' ? ASK_BROWSER : []);
      return FAILURES[failure.kind].status;
    }
  }

  #admit(exchange: ClientExchange, id: string, owner: UserId): Admission | Promise<Admission> {
    return admitToPod(this.#deps.keyRing, exchange, { id, owner });
  }

  /** Ends requests with the key that opened them. Those without one end when the pod becomes private. */
  #forward(
    exchange: ClientExchange,
    podId: string,
    port: number,
    admission: Admission | null,
  ): Promise<ForwardOutcome> {
    return new Promise((resolve) => {
      let unwatch: (() => void) | null = null;
      let isOver = false;
      const onOutcome = (outcome: ForwardOutcome) => {
        isOver = true;
        unwatch?.();
        resolve(outcome);
      };
      const onLasting = (response: Forwarded) => {
        if (admission === null) unwatch = this.#watchStranger(podId, response);
      };
      const { settings, keyRing } = this.#deps;
      const options = { withheld: admission?.withheld ?? WITHHELD_KEY };
      const request = forward({ onOutcome, onLasting }, settings, exchange, this.#upstream(podId, port), options);
      if (admission !== null && !isOver) unwatch = keyRing.onEnd(admission.actor, (end) => request.cut(keyEnded(end)));
    });
  }

  #watchStranger(podId: string, response: Forwarded): () => void {
    const open = this.#open.get(podId) ?? new Set();
    this.#open.set(podId, open.add(response));
    return () => {
      open.delete(response);
      if (open.size === 0 && this.#open.get(podId) === open) this.#open.delete(podId);
    };
  }

  /** An unreachable database cuts nothing: the next sweep asks again. */
  async #cutStrangers(podId: string): Promise<void> {
    if (!this.#open.has(podId)) return;
    try {
      const route = await this.#routes.find(podId);
      if (route?.privateTo == null) return;
      for (const response of [...(this.#open.get(podId) ?? [])]) response.cut(isPrivateNow());
    } catch (error) {
      this.#deps.logger.warn({ podId, err: error }, 'open connections of a pod could not be checked');
    }
  }

  #upstream(podId: string, port: number): Upstream {
    let ports = this.#upstreams.get(podId);
    if (!ports) {
      ports = new Map();
      this.#upstreams.set(podId, ports);
    }
    let entry = ports.get(port);
    if (!entry) {
      entry = { upstream: new Upstream(() => this.#deps.reach(podId, port)), usedAt: 0 };
      ports.set(port, entry);
    }
    entry.usedAt = this.#deps.monotonic.now();
    return entry.upstream;
  }

  /** Closes the connections of a pod that changed: its address may belong to another one now. */
  #drop(podId: string): void {
    this.#routes.drop(podId);
    for (const { upstream } of this.#upstreams.get(podId)?.values() ?? []) upstream.close();
    this.#upstreams.delete(podId);
  }

  #forgetUnused(): void {
    for (const podId of this.#open.keys()) void this.#cutStrangers(podId); // a hint may have been lost
    const before = this.#deps.monotonic.now() - FORGET_AFTER_MS;
    for (const [podId, ports] of this.#upstreams) {
      for (const [port, { upstream, usedAt }] of ports) {
        if (usedAt >= before) continue;
        upstream.close(); // running requests continue
        ports.delete(port);
      }
      if (ports.size === 0) this.#upstreams.delete(podId);
    }
  }
}

function noSuchPort(): Failure {
  return new Failure('notFound', 'There is no running pod with this HTTP port here.');
}

function notConnected(reason: ConnectFailure, port: number): Failure {
  if (reason === 'timedOut')
    return new Failure('gatewayTimeout', `Port ${port} of the pod did not accept a connection in time.`);
  return new Failure(
    'badGateway',
    `Port ${port} of the pod accepts no connections. Either its server has not started yet, or it listens on the wrong ` +
      'address: inside a pod, a server must bind to all interfaces (0.0.0.0), not to localhost or 127.0.0.1.',
  );
}

/** For clients whose `Authorization` is for the program in the pod. */
const KEY_HEADER = 'x-podyard-key';
/** Headers that a pod does not get: the key is for Podyard. `Authorization` of a request to a public pod belongs to the pod. */
const WITHHELD_KEY: ReadonlySet<string> = new Set([KEY_HEADER]);
const WITHHELD_BOTH: ReadonlySet<string> = new Set([KEY_HEADER, 'authorization']);

/** Beside `Bearer`, for browsers: they ask for a name and a password, and remember them for the pod's own origin. */
const ASK_BROWSER: RawHeaders = ['WWW-Authenticate', 'Basic realm="Podyard: API key as the password", charset="UTF-8"'];

/** A key that opens a private pod, and the headers that the pod must not see. */
interface Admission {
  actor: Credential;
  withheld: ReadonlySet<string>;
}

/**
 * Admits a request to a private pod of `owner`. Synchronous when the key is cached. Throws the same `unauthorized` for a
 * request without a key and for every key that may not read the pod, and `tooManyRequests` for the many unknown keys of an address.
 */
function admitToPod(
  keyRing: Pick<KeyRing, 'peek' | 'authenticate' | 'teams'>,
  exchange: ClientExchange,
  pod: { id: string; owner: UserId },
): Admission | Promise<Admission> {
  const { key, withheld } = credentialsOf(exchange.headers);
  const check = (actor: Actor | undefined): Admission | Promise<Admission> => {
    if (actor && actor.userId !== pod.owner) return keyRing.teams.actAs(actor, pod.owner).then(check, throwPrivate);
    if (!actor || !isPermitted(actor, { area: 'pods', access: 'read', resourceId: pod.id })) throw isPrivate();
    return { actor, withheld };
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

/** A stranger to the team learns what every other stranger does. */
function throwPrivate(error: unknown): never {
  throw error instanceof Failure && error.kind === 'forbidden' ? isPrivate() : error;
}

function isPrivate(): Failure {
  return new Failure(
    'unauthorized',
    'This pod is private: it needs an API key of its owner, as a bearer token or as the password of Basic authentication.',
  );
}

function isPrivateNow(): Failure {
  return new Failure('unauthorized', 'this pod became private: send a key that may use it');
}
