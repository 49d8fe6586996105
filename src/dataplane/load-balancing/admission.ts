import { Failure, notFound } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { type Actor, checkPermission } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import type { SecretRing } from '../../domain/access/secret-ring.ts';
import { bodyOverLimit } from '../../domain/quotas/over-limit.ts';
import { readKey } from '../../http/bearer.ts';
import { hashTextOnConnection } from '../../http/floods/connection-hash.ts';
import { readSessionSecret, sessionEnded } from '../../http/session-cookie.ts';
import type { EndpointDirectory, EndpointEntry } from '../endpoint-directory.ts';
import { joinedValues } from '../proxy/header-rules.ts';
import type { ClientExchange } from '../wire/client-exchange.ts';
import type { Affinity } from './backend.ts';

interface AdmissionDeps {
  readonly keyRing: KeyRing;
  readonly endpoints: EndpointDirectory;
  /** Limit of a request's body; 0: none. */
  readonly maxBodyBytes: number;
}

/** A request to be admitted. */
export interface Applicant {
  readonly exchange: ClientExchange;
  readonly caller: Caller;
  /** Set when it is admitted. */
  actor: Actor | null;
}

/** Decides which requests may reach a load-balancing endpoint. */
export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the endpoint if the request's key may invoke it; throws a `Failure` otherwise. Synchronous when key and endpoint are cached.
   * The endpoint is read only for a valid key, so that unauthenticated requests cause no query.
   */
  admit(applicant: Applicant, endpointId: string): EndpointEntry | Promise<EndpointEntry> {
    const { key, keyHash } = applicant.caller;
    if (key === null) return this.#admitSession(applicant, endpointId);
    const actor = this.#deps.keyRing.peek(key, keyHash);
    if (!actor) return this.#authenticate(applicant, { ring: this.#deps.keyRing, secret: key }, endpointId);
    const endpoint = this.#deps.endpoints.findReachable(endpointId, actor.userId);
    if (!(endpoint instanceof Promise)) return this.#check(applicant, actor, endpointId, endpoint);
    return endpoint.then((found) => this.#check(applicant, actor, endpointId, found));
  }

  /** The console sends a header beside the cookie, as no page that a worker serves could. */
  #admitSession(applicant: Applicant, endpointId: string): Promise<EndpointEntry> {
    const { method, headers } = applicant.exchange;
    const secret = readSessionSecret({ method, headers: headers.record });
    if (secret === null) throw new Failure('unauthorized', 'no token provided');
    return this.#authenticate(applicant, { ring: this.#deps.keyRing.sessions, secret }, endpointId);
  }

  async #authenticate(
    applicant: Applicant,
    { ring, secret }: { ring: SecretRing; secret: string },
    endpointId: string,
  ): Promise<EndpointEntry> {
    const { remoteAddress, headers } = applicant.exchange;
    const peer = { remoteAddress, forwardedFor: joinedValues(headers, 'x-forwarded-for') };
    const actor = await ring.authenticate(secret, peer);
    const isKey = ring === this.#deps.keyRing;
    const request = { headers: headers.record, socket: { remoteAddress } };
    if (!isKey && (!actor || !(await this.#deps.keyRing.isVouched(actor, request)))) throw sessionEnded();
    if (!actor) throw new Failure('unauthorized', 'invalid api key');
    return this.#check(
      applicant,
      actor,
      endpointId,
      await this.#deps.endpoints.findReachable(endpointId, actor.userId),
    );
  }

  #check(
    applicant: Applicant,
    actor: Actor,
    endpointId: string,
    endpoint: EndpointEntry | undefined,
  ): EndpointEntry | Promise<EndpointEntry> {
    if (endpoint && endpoint.userId !== actor.userId) {
      const member = this.#deps.keyRing.teams.actAs(actor, endpoint.userId);
      return member.then((acting) => this.#check(applicant, acting, endpointId, endpoint));
    }
    checkPermission(actor, { invoke: endpointId as EndpointId, access: 'write' });
    if (!endpoint) throw notFound('Endpoint');
    if (endpoint.type !== 'LOAD_BALANCING') throw new Failure('badRequest', 'not allowed for QB API');
    const { bodyLength } = applicant.exchange;
    if (typeof bodyLength === 'number') this.#checkBody(bodyLength, endpoint);
    applicant.actor = actor;
    return endpoint;
  }

  /** Throws if an announced body is over the server's or the user's limit. */
  #checkBody(bytes: number, { user }: EndpointEntry): void {
    const { maxBodyBytes } = this.#deps;
    if (maxBodyBytes > 0 && bytes > maxBodyBytes) {
      throw new Failure('contentTooLarge', `the request body is larger than the limit of ${maxBodyBytes} bytes`);
    }
    const { requestBytes } = user.limits;
    if (requestBytes !== null && bytes > requestBytes) throw bodyOverLimit(requestBytes);
  }
}

/** The caller of a request, according to its headers. */
class Caller {
  /** Null without one. */
  readonly key: string | null;
  readonly keyHash: string;
  readonly affinity: Affinity | undefined;

  constructor({ headers, connection }: ClientExchange) {
    const authorization = headers.get('authorization');
    this.key = authorization ? readKey(authorization) : null;
    this.keyHash = this.key === null ? '' : hashTextOnConnection(connection, this.key);
    this.affinity = readAffinity(headers.get('x-runpod-worker-id'));
  }
}

/** Returns the caller, from the list of headers if it was read before: a connection keeps it while they are the same. */
export function callerOf(exchange: ClientExchange): Caller {
  const { headers } = exchange;
  if (headers.caller instanceof Caller) return headers.caller;
  const caller = new Caller(exchange);
  headers.caller = caller;
  return caller;
}

/** Parses `X-Runpod-Worker-Id`: `<id>`, `strict <id>` or `strict-resume <id>` (docs/interface/queue.md, "Affinity"). */
export function readAffinity(header: string | undefined): Affinity | undefined {
  const match = header && /^(?:(strict|strict-resume) +)?(\S+)$/i.exec(header.trim());
  if (!match) return undefined;
  return { workerId: match[2]!, kind: (match[1]?.toLowerCase() as Affinity['kind'] | undefined) ?? 'soft' };
}
