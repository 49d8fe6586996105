import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import type { TerminalLimits } from '../../config/limit-settings.ts';
import { type Clock, monotonicClock, systemClock } from '../../core/clock.ts';
import { newId, type PodId, type UserId } from '../../core/ids.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import { encodeFrame, type WebSocketMessage } from '../../core/web-socket-frames.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createApiKey, revokeApiKey } from '../../domain/access/create-api-key.ts';
import { KeyRing } from '../../domain/access/key-ring.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { updateTeamMember } from '../../domain/teams/change-team.ts';
import { insertMember } from '../../domain/teams/team-store.ts';
import { createTerminal } from '../../domain/terminals/create-terminal.ts';
import { endTerminal } from '../../domain/terminals/end-terminal.ts';
import { TERMINAL_PROTOCOL, type TerminalRequest, TICKET_PROTOCOL } from '../../domain/terminals/terminal.ts';
import { listSessions } from '../../domain/terminals/terminal-store.ts';
import { createProcessRuntime } from '../../runtimes/process/process-runtime.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { Front } from '../wire/front.ts';
import { TrustedProxies } from '../wire/trusted-proxies.ts';
import { Terminals } from './terminals.ts';

const LIMITS: TerminalLimits = { perUser: 3, perProcess: 4, idleMs: 600_000 };
const PATH = '/v2/account/terminals/connect';

let database: TestDatabase;
let bus: Bus;
let keyRing: KeyRing;
let runtime: Runtime;
let stateDir: string;
let actor: Actor;
let podId: PodId;
let port: number;
let terminals: Terminals;
let closeFront: () => Promise<void>;
const logged: { fields: Record<string, unknown>; message: string }[] = [];
const logger: Logger = {
  ...silentLogger,
  info: (fields: object, message?: string) => logged.push({ fields: { ...fields }, message: message! }),
} as Logger;

beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  await bus.start();
  keyRing = new KeyRing({ pool: database.pool, bus, clock: systemClock });
  stateDir = mkdtempSync(join(tmpdir(), 'podyard-terminals-'));
  runtime = createProcessRuntime({
    stateDir,
    imagesFiles: [resolve(import.meta.dirname, '../../../workers/images.json')],
    installation: `t${process.pid}`,
    gpus: new Map(),
    logger: silentLogger,
    hostEnv: { PATH: process.env.PATH ?? '' },
  });
});
beforeEach(async () => {
  logged.length = 0;
  const { id: userId } = await createUser(database.pool, { name: newId(), email: null });
  actor = await actorOf(userId);
  podId = newId<PodId>();
  await database.pool.query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, has_global_network,
       revision, wanted, phase, phase_revision, data_center_id)
     values ($1, $2, '', 'i', '', 20, '{}', '{}', '{}', 'SECURE', '{}', false, 1, 'RUN', 'RUNNING', 1, 'LOCAL-1')`,
    [podId, userId],
  );
  const command = JSON.stringify({ entrypoint: ['sleep', '600'] });
  await runtime.start(
    workloadSpec({ id: podId, kind: 'pod', image: 'podyard/echo-js:dev', args: command, env: { GREETING: 'hi' } }),
  );
  await serve(LIMITS);
});
afterEach(async () => {
  await terminals.stop();
  await closeFront();
  await runtime.stop(podId, 0);
});
afterAll(async () => {
  await runtime.close();
  keyRing.close();
  await bus.stop();
  await database.drop();
  rmSync(stateDir, { recursive: true });
});

async function actorOf(userId: UserId): Promise<Actor> {
  const scopes = [parseScope('all'), parseScope('exec')];
  const input = { userId, name: 'laptop', scopes, expiresAt: null };
  const { key } = await change({ pool: database.pool, bus, clock: systemClock }, null, createApiKey, input);
  return { userId, keyId: key.id, scopes };
}

async function serve(limits: TerminalLimits | null, monotonic: Clock = monotonicClock): Promise<void> {
  const trustedProxies = new TrustedProxies([]);
  terminals = new Terminals({
    ...{ pool: database.pool, bus, keyRing, monotonic, logger, trustedProxies, limits },
    exec: (id, request) => runtime.exec(id, request),
  });
  const dispatch = () => (exchange: Parameters<Terminals['handle']>[0]) => void terminals.handle(exchange);
  const front = new Front({ tls: null, http: createServer(), trustedProxies, dispatch });
  front.server.listen(0, '127.0.0.1');
  await once(front.server, 'listening');
  port = (front.server.address() as AddressInfo).port;
  closeFront = () => front.close();
}

const ticketFor = async (request: Partial<TerminalRequest>, limits: TerminalLimits | null = LIMITS) =>
  change({ pool: database.pool, bus, terminal: limits }, actor, createTerminal, {
    place: { podId },
    request: { command: ['cat'], size: null, hasInput: true, ...request },
  });

/** A client that acknowledges what it reads, unless it is told not to. */
class Client {
  readonly socket: WebSocket;
  readonly messages: Record<string, unknown>[] = [];
  text = '';
  received = 0;
  isReading: boolean;
  closed: Promise<number>;
  #wake = () => {};

  constructor(ticket: string, isReading = true) {
    this.isReading = isReading;
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${PATH}`, [TERMINAL_PROTOCOL, `${TICKET_PROTOCOL}${ticket}`]);
    this.socket.binaryType = 'arraybuffer';
    const decoder = new TextDecoder();
    this.socket.onmessage = ({ data }) => {
      if (typeof data === 'string') this.messages.push(JSON.parse(data));
      else {
        const bytes = new Uint8Array(data as ArrayBuffer);
        this.received += bytes.length - 1;
        this.text += decoder.decode(bytes.subarray(1), { stream: true });
        if (this.isReading) this.send({ type: 'ack', bytes: bytes.length - 1 });
      }
      this.#wake();
    };
    this.closed = new Promise((resolve) => {
      this.socket.onclose = ({ code }) => {
        resolve(code);
        this.#wake();
      };
    });
    this.socket.onerror = () => {};
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  write(text: string | Uint8Array): void {
    this.socket.send(Buffer.concat([Buffer.of(0), Buffer.from(text as string)]));
  }

  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`closed: ${JSON.stringify(this.messages)} ${this.text}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  get exit(): { code: number | null; reason: string | null } | undefined {
    return this.messages.find(({ type }) => type === 'exit') as never;
  }

  async ended() {
    await this.until(() => this.exit !== undefined);
    return this.exit;
  }
}

async function open(request: Partial<TerminalRequest>, isReading = true): Promise<Client> {
  const client = new Client((await ticketFor(request)).ticket, isReading);
  await client.until(() => client.messages.some(({ type }) => type === 'ready'));
  return client;
}

/** Resolves with the status of an upgrade that is refused. */
function statusOf(protocols: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      port,
      path: PATH,
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': protocols,
        ...headers,
      },
    });
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    request.once('error', reject);
    request.end();
  });
}

test('a shell has the workload’s environment and a terminal that follows its window', async () => {
  const shell = await open({ command: ['sh'], size: { columns: 90, rows: 30 } });
  shell.write('stty size; echo "$GREETING, žluťoučký 🦄"\r');
  await shell.until(() => shell.text.includes('30 90') && shell.text.includes('hi, žluťoučký 🦄'));
  for (let columns = 100; columns <= 132; columns++) shell.send({ type: 'resize', columns, rows: 50 });
  const isThere = () => {
    shell.write('stty size\r'); // what is typed may overtake a resize
    return shell.text.includes('50 132');
  };
  await expect.poll(isThere, { timeout: 5_000 }).toBe(true);
  shell.write('exit 5\r');
  expect(await shell.ended()).toMatchObject({ code: 5, reason: null });
  expect(await shell.closed).toBe(1000);
});

test('the record says who ran what, where, from where and how it ended, and nothing that was typed', async () => {
  const client = await open({ command: ['/bin/sh', '-c', 'cat >/dev/null; exit 2', 'a-secret'] });
  expect(await listSessions(database.pool, actor.userId, 10)).toMatchObject([{ status: 'OPEN', endedAt: null }]);
  client.write('another secret');
  client.send({ type: 'eof' });
  await client.ended();
  await expect
    .poll(() => listSessions(database.pool, actor.userId, 10))
    .toMatchObject([
      { podId, program: 'sh', keyName: 'laptop', clientAddress: '127.0.0.1', status: 'ENDED', exitCode: 2 },
    ]);
  const rows = await database.pool.query('select * from terminal_sessions where user_id = $1', [actor.userId]);
  expect(JSON.stringify(rows.rows)).not.toContain('secret');
  expect(logged.map(({ message }) => message)).toEqual(['terminal opened', 'terminal ended']);
  expect(logged[1]!.fields).toMatchObject({
    userId: actor.userId,
    podId,
    clientAddress: '127.0.0.1',
    exitCode: 2,
    inputBytes: 14,
  });
  expect(JSON.stringify(logged)).not.toContain('secret');
});

test('a ticket works once, and only with the server’s protocol', async () => {
  const { ticket } = await ticketFor({});
  expect(await statusOf(TERMINAL_PROTOCOL)).toBe(400);
  expect(await statusOf(`${TICKET_PROTOCOL}${ticket}`)).toBe(400);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}`, { 'sec-websocket-version': '8' })).toBe(
    400,
  );
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}pyt_guess`)).toBe(401);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}`)).toBe(101);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}`)).toBe(401);
});

test('a ticket expires after a minute, and with its key', async () => {
  const old = await ticketFor({});
  await database.pool.query(`update terminal_sessions set created_at = now() - interval '61 seconds' where id = $1`, [
    old.session.id,
  ]);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${old.ticket}`)).toBe(401);
  const { ticket } = await ticketFor({});
  await change({ pool: database.pool, bus }, actor, revokeApiKey, actor);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}`)).toBe(401);
});

test('many wrong tickets from one address are refused without a query', async () => {
  const seen = new Set<number | undefined>();
  // On a slow machine some are forgiven between two batches.
  for (let batch = 0; batch < 50 && !seen.has(429); batch++) {
    const tries = Array.from({ length: 4 }, () => statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}pyt_wrong`));
    for (const status of await Promise.all(tries)) seen.add(status);
  }
  expect(seen).toEqual(new Set([401, 429]));
});

/** Opens a session on a bare connection, which sends what it likes and reads only when it is told to. */
async function openBare(request: Partial<TerminalRequest>): Promise<Socket> {
  const { ticket } = await ticketFor(request);
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  socket.write(
    `GET ${PATH} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
      `Sec-WebSocket-Protocol: ${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}\r\n\r\n`,
  );
  await once(socket, 'readable');
  return socket;
}
const endReason = async () => (await listSessions(database.pool, actor.userId, 1))[0]!.endReason;

test('a flood of pings ends with a reason, and takes no memory although the client does not read', async () => {
  const socket = await openBare({ command: ['sleep', '60'] });
  const ping = encodeFrame({ kind: 'ping', bytes: Buffer.alloc(125, 1) }, true);
  const pings = Buffer.concat(Array.from({ length: 2_000 }, () => ping));
  const before = process.memoryUsage().rss;
  const ended = once(socket, 'close');
  for (let i = 0; i < 100 && !socket.destroyed; i++) {
    if (!socket.write(pings)) await Promise.race([once(socket, 'drain'), ended]).catch(() => {});
  }
  await expect.poll(endReason).toBe('the client sent more than 1000 pings and pongs within 10 s');
  socket.destroy();
  expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
});

test('the latest of the pings that a client leaves unread is answered once it reads', async () => {
  const socket = await openBare({ command: ['sh', '-c', 'head -c 200000 /dev/zero; sleep 60'] });
  for (let n = 0; n < 900; n++) {
    socket.write(encodeFrame({ kind: 'ping', bytes: Buffer.from(`ping ${String(n).padStart(4, '0')}`) }, true));
  }
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received = (received + chunk.toString('latin1')).slice(-400_000);
  });
  await expect.poll(() => received.includes('ping 0899')).toBe(true);
  socket.destroy();
});

test('input that a program reads is acknowledged to the last byte, however small its messages', async () => {
  const socket = await openBare({ command: ['sh', '-c', 'cat >/dev/null'] });
  const one = encodeFrame({ kind: 'binary', bytes: Buffer.from('\0x') }, true);
  const some = Buffer.concat(Array.from({ length: 1_000 }, () => one));
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  const acknowledged = () =>
    [...received.matchAll(/"ack","bytes":(\d+)/g)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  for (let sent = 1_000; sent <= 20_000; sent += 1_000) {
    socket.write(some);
    await expect.poll(acknowledged).toBe(sent);
  }
  socket.destroy();
});

test.each<[string, () => WebSocketMessage, RegExp]>([
  [
    'many small messages that the program does not read',
    () => ({ kind: 'binary', bytes: Buffer.from('\0x') }),
    /more than it may/,
  ],
  [
    'signals without end',
    () => ({ kind: 'text', text: '{"type":"signal","name":"WINCH"}' }),
    /signals faster than they can be delivered/,
  ],
])('%s end the session', async (_, message, reason) => {
  const socket = await openBare({ command: ['sleep', '60'] });
  const frame = encodeFrame(message(), true);
  socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => frame)));
  await expect.poll(endReason).toMatch(reason);
  socket.destroy();
});

test('others are served while a client sends messages as fast as it can', async () => {
  const socket = await openBare({ command: ['sleep', '60'] });
  const ack = encodeFrame({ kind: 'text', text: '{"type":"ack","bytes":1}' }, true);
  const acks = Buffer.concat(Array.from({ length: 5_000 }, () => ack));
  const flood = () => {
    while (!socket.destroyed && socket.write(acks));
  };
  socket.on('drain', flood);
  flood();
  const other = await open({ command: ['cat'] });
  for (let n = 0; n < 20; n++) {
    other.write(`line ${n}\n`);
    await other.until(() => other.text.includes(`line ${n}\n`));
  }
  socket.destroy();
  other.send({ type: 'eof' });
  expect(await other.ended()).toMatchObject({ code: 0 });
});

test('a client that reads nothing pauses the program; then everything comes', async () => {
  const bytes = 4 * 2 ** 20;
  const client = await open({ command: ['head', '-c', String(bytes), '/dev/zero'] }, false);
  await client.until(() => client.received >= 256 * 1024);
  const before = client.received;
  expect(before).toBeLessThan(600 * 1024);
  client.isReading = true;
  client.send({ type: 'ack', bytes: before });
  await client.ended();
  expect(client.received).toBe(bytes);
});

test('a client that sends more than it may is cut off', async () => {
  const client = await open({ command: ['sleep', '60'] });
  for (let i = 0; i < 40; i++) client.write(Buffer.alloc(60 * 1024));
  expect(await client.closed).toBe(1009);
});

test.each([
  ['text that is no message', (client: Client) => client.socket.send('hello'), 1002],
  ['a stream that is none', (client: Client) => client.socket.send(Buffer.of(9, 9)), 1002],
  ['an impossible size', (client: Client) => client.send({ type: 'resize', columns: 1e9, rows: 1 }), 1002],
  ['a giant message', (client: Client) => client.socket.send(Buffer.alloc(200 * 1024)), 1009],
])('%s ends the session', async (_, send, code) => {
  const client = await open({ command: ['sleep', '60'] });
  send(client);
  expect(await client.closed).toBe(code);
});

test('a session ends with its key, a request to end it, and its pod, and says why', async () => {
  const first = await open({ command: ['sleep', '60'] });
  const [session] = await listSessions(database.pool, actor.userId, 1);
  await change({ pool: database.pool, bus }, actor, endTerminal, { id: session!.id });
  expect(await first.ended()).toMatchObject({ code: null, reason: 'it was ended by a user' });

  const second = await open({ command: ['sleep', '60'] });
  await database.pool.query(`update pods set wanted = 'STOP', wanted_reason = 'asked by a user' where id = $1`, [
    podId,
  ]);
  bus.publish('pod', podId);
  expect(await second.ended()).toMatchObject({ code: null, reason: 'the pod was stopped: asked by a user' });
  await database.pool.query(`update pods set wanted = 'RUN' where id = $1`, [podId]);

  const third = await open({ command: ['sleep', '60'] });
  await change({ pool: database.pool, bus }, actor, revokeApiKey, actor);
  expect(await third.ended()).toMatchObject({ code: null, reason: 'the API key was revoked or has expired' });
});

test('a terminal for a team ends when its person is demoted, or leaves the team, and says why', async () => {
  const { pool } = database;
  const person = actor;
  const { id: teamId } = await createUser(pool, { name: newId(), email: null, kind: 'TEAM' });
  await pool.query('update pods set user_id = $2 where id = $1', [podId, teamId]);
  const demotions = [{ role: 'DEVELOPER' }, { role: null }] as const;
  for (const { role } of demotions) {
    await pool.query('delete from team_members where team_id = $1', [teamId]);
    await insertMember(pool, teamId, person.userId, 'OPERATOR');
    actor = { ...person, userId: teamId, personId: person.userId, actingRole: 'OPERATOR' };
    const client = await open({ command: ['sleep', '60'] });
    await change({ pool, bus }, null, updateTeamMember, { id: teamId, userId: person.userId, role });
    expect(await client.ended()).toMatchObject({ reason: 'its user may no longer run programs for the team' });
  }
});

test('the program of a client that disconnects is ended', async () => {
  const client = await open({ command: ['sh', '-c', 'echo "pid $$."; exec sleep 600'] });
  await client.until(() => client.text.includes('.'));
  const pid = Number(/pid (\d+)/.exec(client.text)![1]);
  client.socket.close();
  await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
  await expect
    .poll(async () => (await listSessions(database.pool, actor.userId, 1))[0]?.endReason)
    .toBe('the client disconnected');
});

test('a user and a process have only so many sessions', async () => {
  const clients = await Promise.all(Array.from({ length: 3 }, () => open({})));
  await expect(ticketFor({})).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('may have 3'),
  });
  const { ticket: fourth } = await ticketFor({}, { ...LIMITS, perUser: 9 });
  const { ticket: fifth } = await ticketFor({}, { ...LIMITS, perUser: 9 });
  const client = new Client(fourth);
  await client.until(() => client.messages.length > 0);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${fifth}`)).toBe(503);
  for (const one of [...clients, client]) one.socket.close();
});

test('a user’s programs start a few at a time, and one that waits says how long', async () => {
  await terminals.stop();
  closeFront();
  const many = { ...LIMITS, perUser: 30, perProcess: 30 };
  await serve(many, { now: () => 0 }); // however long it takes to open them
  const clients: Client[] = [];
  for (let count = 0; count < 22; count += 1) clients.push(new Client((await ticketFor({}, many)).ticket));
  const types = ({ messages }: Client) => messages.map(({ type }) => type);
  for (const client of clients) await client.until(() => types(client).includes('ready'));
  const waited = clients.filter((client) => types(client)[0] === 'notice');
  expect(waited.map(({ messages }) => messages[0]!.text)).toEqual(
    Array(2).fill('20 programs start at once, then 5 a second: this one starts in 1 s'),
  );
  waited[0]!.send({ type: 'eof' });
  expect(await waited[0]!.ended()).toMatchObject({ code: 0 });
  for (const client of clients) client.socket.close();
});

test('sessions of a process that is gone count as ended', async () => {
  const client = await open({});
  const read = async () => {
    // The process that serves it is there, and may have said so in between.
    await database.pool.query(
      `update terminal_sessions set seen_at = now() - interval '2 minutes' where user_id = $1`,
      [actor.userId],
    );
    return listSessions(database.pool, actor.userId, 1);
  };
  const ended = { status: 'ENDED', endReason: 'the server process that served it is gone' };
  await expect.poll(read).toMatchObject([ended]);
  client.socket.close();
});

test('a program that cannot run, and a disabled server, say so', async () => {
  const missing = new Client((await ticketFor({ command: ['/no/such'], hasInput: false })).ticket);
  expect(await missing.ended()).toMatchObject({ code: 127 });
  await runtime.stop(podId, 0);
  const gone = new Client((await ticketFor({})).ticket);
  expect(await gone.ended()).toMatchObject({ code: null, reason: 'Workload not found' });
  await expect(ticketFor({}, null)).rejects.toMatchObject({
    kind: 'forbidden',
    message: expect.stringContaining('--no-terminal'),
  });
  await terminals.stop();
  await closeFront();
  await serve(null);
  expect(await statusOf(`${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}x`)).toBe(404);
});

test('frames that come with the request are not lost, and garbage ends the connection', async () => {
  const raw = async (ticket: string, bytes: Buffer): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    const head = `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ${TERMINAL_PROTOCOL}, ${TICKET_PROTOCOL}${ticket}\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), bytes]));
    return socket;
  };
  const early = Buffer.concat([
    encodeFrame({ kind: 'binary', bytes: Buffer.from('\0early') }, true),
    encodeFrame({ kind: 'text', text: '{"type":"eof"}' }, true),
  ]);
  const socket = await raw((await ticketFor({})).ticket, early);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  expect(answer).toContain('early');
  expect(answer).toContain('"type":"exit","code":0');
  const garbage = await raw((await ticketFor({})).ticket, Buffer.alloc(5000, 0xff));
  garbage.resume();
  await once(garbage, 'close');
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
