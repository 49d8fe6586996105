/**
 * The pull-through hub, on the listener that only workloads reach (docs/interface/models.md). It serves the models of one hub and is not a
 * general proxy: upstream requests are built from checked names, and carry only the reader's own token.
 */
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Pool } from '../../db/pool.ts';
import { findHubWorkload, type HubAccess, type HubWorkload } from '../../domain/access/hub-access.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { renderProblem } from '../../http/problem.ts';
import { HubRefused } from '../../models/hub/hub-client.ts';
import type { PullThroughHub } from '../../models/hub/pull-through-hub.ts';
import { EntryCache } from '../entry-cache.ts';
import { drainBody } from '../read-body.ts';
import { RequestLog } from '../request-log.ts';
import type { HubCall } from './hub-call.ts';
import { parseHubRoute, splitHubPath } from './hub-route.ts';
import { HubTraffic } from './hub-traffic.ts';
import { sendFile } from './send-file.ts';
import { sendJson } from './send-json.ts';

export interface HubPlaneDeps {
  pool: Pool;
  access: HubAccess;
  hub: PullThroughHub;
  metrics: Metrics;
  logger: Logger;
  monotonic: Clock;
  clock: Clock;
}

/** Questions whose answers are in memory at once, of all users and of one. */
const QUESTIONS = { slots: 16, perOwner: 4 };
const BEARER = /^bearer ([\x21-\x7e]{1,500})$/i;

export class HubPlane {
  readonly #deps: HubPlaneDeps;
  readonly #workloads: EntryCache<HubWorkload>;
  readonly #traffic: HubTraffic;
  readonly #questions = new FairSlots(QUESTIONS);

  constructor(deps: HubPlaneDeps) {
    this.#deps = deps;
    this.#traffic = new HubTraffic(deps.monotonic);
    this.#workloads = new EntryCache({ monotonic: deps.monotonic, load: (id) => findHubWorkload(deps.pool, id) });
  }

  /** Answers a request whose path `isHubPath`. */
  async handle(req: CallRequest, res: CallResponse): Promise<void> {
    const log = new RequestLog(this.#deps, 'worker', res);
    log.route = 'hub';
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    try {
      const { token, rest } = splitHubPath(req.url!);
      const userId = await this.#userOf(token);
      log.userId = userId;
      const leave = this.#traffic.enter(userId);
      try {
        await this.#answer({ req, res, token, userId, rest, signal: gone.signal });
      } finally {
        leave();
      }
    } catch (error) {
      this.#refuse(req, res, error);
    }
  }

  async close(): Promise<void> {
    await this.#deps.hub.close();
  }

  async #answer({
    req,
    res,
    token,
    userId,
    rest,
    signal,
  }: Pick<HubCall, 'req' | 'res' | 'signal'> & { token: string; userId: UserId; rest: string }): Promise<void> {
    const { hub, access, metrics, clock } = this.#deps;
    const route = parseHubRoute(req.method!, rest);
    const [, hubToken = null] = BEARER.exec(req.headers.authorization ?? '') ?? [];
    const host = /^[\w.:[\]-]{1,200}$/.exec(req.headers.host ?? '')?.[0] ?? 'localhost';
    const reader = { name: access.readerOf(userId, hubToken), userId, token: hubToken };
    const call = { req, res, hub, reader, base: `http://${host}/hub/${token}`, signal, metrics, clock };
    if (route.kind === 'file') await sendFile(call, route);
    else await this.#questions.run(userId, () => sendJson(call, route));
  }

  /** Throws `forbidden` for a token of no workload that runs. */
  async #userOf(token: string): Promise<UserId> {
    const id = this.#deps.access.idOf(token);
    const workload = id === null ? undefined : await this.#workloads.find(id);
    if (workload) return workload.userId;
    throw new Failure('forbidden', 'this address of the hub is not of a workload that runs here');
  }

  /** In the words of the hub, which its clients read. */
  #refuse(req: CallRequest, res: CallResponse, error: unknown): void {
    if (res.headersSent || res.destroyed) {
      res.destroy(); // else a client would take a part for the whole
      return;
    }
    const { status, message, headers } = error instanceof HubRefused ? refusalOf(error) : failureOf(error);
    if (status >= 500) this.#deps.logger.warn({ err: error }, 'request to the hub failed');
    const body = JSON.stringify({ error: message });
    res.writeHead(status, [
      ...['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))],
      ...['x-error-message', message.replace(/[^\x20-\x7e]/g, '?')],
      ...headers,
    ]);
    drainBody(req, () => res.end(req.method === 'HEAD' ? '' : body));
  }
}

function refusalOf({ status, message, code, commit, retryAfterSeconds }: HubRefused) {
  const headers = [
    ...(code === null ? [] : ['x-error-code', code]),
    ...(commit === null ? [] : ['x-repo-commit', commit]),
    ...(retryAfterSeconds === null ? [] : ['retry-after', String(retryAfterSeconds)]),
  ];
  return { status, message, headers };
}

function failureOf(error: unknown) {
  const { status, problem, headers } = renderProblem(error);
  return { status, message: problem.detail, headers };
}
