import type { TerminalLimits } from '../../config/limit-settings.ts';
import { clientAddress, clientNetwork, type TrustedAddresses } from '../../core/client-address.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import { OpeningPace } from '../../core/flow/opening-pace.ts';
import type { TerminalId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { GuessLimiter } from '../../domain/access/guess-limiter.ts';
import type { Credential, KeyRing } from '../../domain/access/key-ring.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import {
  TERMINAL_PROTOCOL,
  type TerminalRequest,
  type TerminalSession,
  TICKET_PROTOCOL,
  workloadOf,
} from '../../domain/terminals/terminal.ts';
import { redeemTicket, touchSessions, updateSessionEnded } from '../../domain/terminals/terminal-store.ts';
import { logFailure } from '../../http/problem.ts';
import { toFailure } from '../../http/to-failure.ts';
import type { ExecRequest, Execution } from '../../runtimes/execution.ts';
import { joinedValues } from '../proxy/header-rules.ts';
import { refuse } from '../proxy/refuse.ts';
import type { ClientExchange } from '../wire/client-exchange.ts';
import { type StreamEnd, TerminalStream } from './terminal-stream.ts';
import { checkHandshake, offeredProtocols, WebSocketConnection } from './web-socket.ts';

export interface TerminalsOptions {
  pool: Db;
  bus: Pick<Bus, 'subscribe' | 'processId'>;
  keyRing: Pick<KeyRing, 'onEnd'>;
  monotonic: Clock;
  logger: Logger;
  trustedProxies: TrustedAddresses;
  /** Null: disabled. */
  limits: TerminalLimits | null;
  exec: (workloadId: string, request: ExecRequest) => Promise<Execution>;
}

const TICK_MS = 5_000;
/** A client that is silent for this long, despite pings, is gone. */
const SILENT_MS = 45_000;
const MAX_TICKET_LENGTH = 128;
/** Starting a program and its guard takes this process milliseconds, and the machine's processors tens of them. */
const STARTS = { burst: 20, perSecond: 5 };

interface Open {
  session: TerminalSession;
  stream: TerminalStream;
  openedAtMs: number;
  notice: string | null;
  unwatch: () => void;
}

interface Admitted {
  session: TerminalSession;
  request: TerminalRequest;
}

/**
 * The terminal sessions of this process (docs/interface/terminals.md). A WebSocket brings a ticket; the ticket names the
 * workload and the program. A session ends with its key, its workload, a request to end it, or after a while without traffic.
 */
export class Terminals {
  readonly #deps: TerminalsOptions;
  readonly #guesses: GuessLimiter;
  readonly #starts: OpeningPace;
  readonly #open = new Map<TerminalId, Open>();
  readonly #loop: Loop;
  readonly #unsubscribe: (() => void)[];
  /** Ends of sessions that are being recorded. */
  readonly #recording = new Set<Promise<void>>();
  /** Tickets being looked up. */
  #pending = 0;
  #isStopping = false;

  constructor(options: TerminalsOptions) {
    this.#deps = options;
    this.#guesses = new GuessLimiter(options.monotonic);
    this.#starts = new OpeningPace(options.monotonic, STARTS);
    const { bus, logger, monotonic } = options;
    const runOnce = () => this.#run();
    this.#loop = new Loop({ name: 'terminals', tickMs: TICK_MS, logger, clock: monotonic, runOnce });
    const wakeFor = (id: string) => {
      if (this.#isServing(id)) this.#loop.wake();
    };
    this.#unsubscribe = (['terminal', 'pod', 'worker'] as const).map((topic) => bus.subscribe(topic, wakeFor));
    // A membership may have ended: `#run` rereads the rights of all open sessions at once.
    this.#unsubscribe.push(bus.subscribe('user', () => this.#open.size > 0 && this.#loop.wake()));
  }

  /** Serves one upgrade. Never throws. */
  async handle(exchange: ClientExchange): Promise<void> {
    try {
      const { session, request } = await this.#admit(exchange);
      if (!exchange.isOver) this.#begin(exchange, session, request);
      else await this.#record(session, { exitCode: null, reason: 'the client disconnected before it began' });
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#deps.logger, failure, {});
      refuse(exchange, failure);
    }
  }

  /** Ends all sessions. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const { stream } of [...this.#open.values()]) stream.end('the server is stopping; connect again');
    await Promise.all([this.#loop.stop(), ...this.#recording]);
  }

  /** Looks at the open sessions once. For tests; otherwise a loop does. */
  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #admit(exchange: ClientExchange): Promise<Admitted> {
    const { limits } = this.#deps;
    if (limits === null || this.#isStopping) throw new Failure('notFound', 'Not found.');
    checkHandshake(exchange);
    const protocols = offeredProtocols(exchange);
    const ticket = protocols.find((one) => one.startsWith(TICKET_PROTOCOL))?.slice(TICKET_PROTOCOL.length) ?? '';
    if (!protocols.includes(TERMINAL_PROTOCOL) || ticket === '' || ticket.length > MAX_TICKET_LENGTH) {
      throw new Failure(
        'badRequest',
        `A terminal needs the subprotocols ${TERMINAL_PROTOCOL} and ${TICKET_PROTOCOL}<ticket>.`,
      );
    }
    if (this.#open.size + this.#pending >= limits.perProcess) {
      const text = `${limits.perProcess} terminal sessions are open at this server process: try again later`;
      throw new Failure('unavailable', text, { retryAfterSeconds: 10 });
    }
    this.#pending += 1;
    try {
      const found = await this.#redeem(ticket, this.#addressOf(exchange));
      if (!found) throw new Failure('unauthorized', 'The ticket is unknown, used or older than a minute.');
      return found;
    } finally {
      this.#pending -= 1;
    }
  }

  async #redeem(ticket: string, clientAddress: string): Promise<Admitted | undefined> {
    const { pool, bus } = this.#deps;
    const end = await this.#guesses.begin(clientNetwork(clientAddress));
    let isRefused = false;
    try {
      const found = await redeemTicket(pool, hashSecret(ticket), { processId: bus.processId, clientAddress });
      isRefused = found === undefined;
      return found;
    } finally {
      end(isRefused);
    }
  }

  #addressOf({ remoteAddress, headers }: ClientExchange): string {
    return clientAddress(
      { remoteAddress, forwardedFor: joinedValues(headers, 'x-forwarded-for') },
      this.#deps.trustedProxies,
    );
  }

  #begin(exchange: ClientExchange, session: TerminalSession, request: TerminalRequest): void {
    const { keyRing, monotonic, logger } = this.#deps;
    WebSocketConnection.accept(exchange, TERMINAL_PROTOCOL, (socket) => {
      const stream = new TerminalStream(socket, monotonic, (end) => this.#end(session, end));
      const unwatch = keyRing.onEnd(openerOf(session), () => stream.end(openerEnded(session)));
      this.#open.set(session.id, { session, stream, unwatch, openedAtMs: monotonic.now(), notice: null });
      logger.info(fieldsOf(session), 'terminal opened');
      this.#loop.start();
      void this.#runProgram(session, stream, request);
      return stream;
    });
  }

  async #runProgram(session: TerminalSession, stream: TerminalStream, request: TerminalRequest): Promise<void> {
    const { command, size, hasInput } = request;
    try {
      await this.#starts.enter(session.userId, (waitMs) => stream.notice(waitNotice(waitMs)));
      if (!this.#open.has(session.id)) return; // it ended meanwhile
      const program = { command, terminal: size, hasInput, marker: session.id };
      stream.attach(await this.#deps.exec(workloadOf(session), program));
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#deps.logger, failure, fieldsOf(session));
      stream.end(failure.message);
    }
  }

  #isServing(id: string): boolean {
    if (this.#open.has(id as TerminalId)) return true;
    for (const { session } of this.#open.values()) if (workloadOf(session) === id) return true;
    return false;
  }

  async #run(): Promise<NextRun | undefined> {
    if (this.#open.size === 0) return undefined;
    this.#endSilent();
    for (const { id, endReason, notice } of await touchSessions(this.#deps.pool, [...this.#open.keys()])) {
      const open = this.#open.get(id);
      if (endReason !== null) open?.stream.end(endReason);
      else if (open && notice !== null && open.notice === null) {
        open.notice = notice;
        open.stream.notice(notice);
      }
    }
    return undefined;
  }

  #endSilent(): void {
    const { monotonic, limits } = this.#deps;
    const now = monotonic.now();
    for (const { stream } of [...this.#open.values()]) {
      if (now - stream.aliveAtMs > SILENT_MS) stream.onClosed();
      else if (now - stream.activeAtMs > limits!.idleMs) stream.end(`nothing was sent for ${limits!.idleMs / 1000} s`);
      else stream.ping();
    }
  }

  #end(session: TerminalSession, end: StreamEnd): void {
    const open = this.#open.get(session.id);
    this.#open.delete(session.id);
    open?.unwatch();
    const { monotonic, logger } = this.#deps;
    const { input: inputBytes, output: outputBytes } = open?.stream.bytes ?? { input: 0, output: 0 };
    const durationMs = Math.round(monotonic.now() - (open?.openedAtMs ?? monotonic.now()));
    logger.info({ ...fieldsOf(session), ...end, durationMs, inputBytes, outputBytes }, 'terminal ended');
    const recorded = this.#record(session, end).finally(() => this.#recording.delete(recorded));
    this.#recording.add(recorded);
  }

  /** If the database is away, the session counts as ended once its heartbeat is old. */
  async #record({ id }: TerminalSession, end: StreamEnd): Promise<void> {
    await updateSessionEnded(this.#deps.pool, id, end).catch((error) => {
      this.#deps.logger.warn({ err: error, terminalId: id }, 'the end of a terminal session could not be recorded');
    });
  }
}

/** The credential that it was opened with: it ends with that. */
function openerOf({ userId, keyId, sessionId }: TerminalSession): Credential {
  return sessionId === null ? { userId, keyId } : { userId, keyId, sessionId };
}

function openerEnded({ sessionId }: TerminalSession): string {
  return sessionId === null ? 'the API key was revoked or has expired' : 'the session of the browser has ended';
}

function waitNotice(waitMs: number): string {
  return `${STARTS.burst} programs start at once, then ${STARTS.perSecond} a second: this one starts in ${Math.ceil(waitMs / 1000)} s`;
}

function fieldsOf({
  id,
  userId,
  keyId,
  sessionId,
  podId,
  endpointId,
  workerId,
  program,
  clientAddress: address,
}: TerminalSession) {
  const workload = podId === null ? { endpointId, workerId } : { podId };
  const opener = sessionId === null ? { keyId } : { sessionId };
  return { terminalId: id, userId, ...opener, ...workload, program, clientAddress: address };
}
