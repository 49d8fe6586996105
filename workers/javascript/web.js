/**
 * A worker of a load-balancing endpoint, for the tests and as an example: an HTTP server that does what the request says.
 * It needs only two variables: PORT, for requests, and PORT_HEALTH, for health checks.
 *
 *   GET  /ping                  204 for the first LOADING_MS milliseconds, then 200
 *   POST /health?status=n       /ping answers with n from now on
 *   GET  /events?count=n        server-sent events, `delayMs` apart
 *   GET  /socket                a WebSocket that echoes
 *   POST /exit?code=n           exits
 *   POST /sleep, /wake_up       falls asleep, wakes up; requests in between get 503
 *   any  /status/n              responds with that status
 *   any other path              `{ method, path, headers, bytes, worker, version }`; `bytes` is the length of the body
 *
 * `?delayMs=n` delays any response. On SIGTERM it closes its port, finishes running requests and exits with 0.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const { env } = process;
const worker = env.RUNPOD_POD_ID ?? 'local';
const port = Number(env.PORT ?? 80);
const healthPort = Number(env.PORT_HEALTH ?? port);
const readyAt = performance.now() + Number(env.LOADING_MS ?? 0);
let healthStatus = 200;

let isAsleep = false;

const ROUTES = {
  '/health': setHealth,
  '/events': events,
  '/exit': exit,
  '/sleep': sleepOrWake,
  '/wake_up': sleepOrWake,
};

async function handle(req, res) {
  const url = new URL(`http://worker${req.url.replace(/^\*/, '/')}`); // not relative: `//x` would be a host
  if (url.pathname === '/ping') return answer(res, performance.now() < readyAt ? 204 : healthStatus, '');
  await pause(Number(url.searchParams.get('delayMs') ?? 0));
  await (ROUTES[url.pathname] ?? echo)(req, res, url);
}

async function echo(req, res, url) {
  let bytes = 0;
  for await (const chunk of req) bytes += chunk.length;
  if (isAsleep) return answer(res, 503, 'asleep');
  const status = Number(/^\/status\/(\d{3})$/.exec(url.pathname)?.[1] ?? 200);
  const { method, url: path, headers } = req;
  answer(res, status, JSON.stringify({ method, path, headers, bytes, worker, version: env.VERSION ?? null }));
}

function sleepOrWake(req, res, url) {
  req.resume();
  isAsleep = url.pathname === '/sleep';
  answer(res, 200, '');
}

function setHealth(req, res, url) {
  req.resume();
  healthStatus = Number(url.searchParams.get('status') ?? 200);
  answer(res, 200, '{}');
}

async function events(_req, res, url) {
  const delayMs = Number(url.searchParams.get('delayMs') ?? 0);
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (let i = 1; i <= Number(url.searchParams.get('count') ?? 3); i++) {
    res.write(`data: {"event":${i},"worker":"${worker}"}\n\n`);
    await pause(delayMs);
  }
  res.end();
}

function exit(_req, _res, url) {
  console.log('exit requested');
  process.exit(Number(url.searchParams.get('code') ?? 1));
}

function answer(res, status, text) {
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

function pause(ms) {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : undefined;
}

/** Just enough of RFC 6455 to echo small messages: unfragmented text frames up to 64 KB. */
function acceptSocket(req, socket) {
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  let waiting = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (let frame = readFrame(waiting); frame; frame = readFrame(waiting)) {
      waiting = waiting.subarray(frame.size);
      if (frame.opcode === 8) return socket.end(Buffer.from([0x88, 0]));
      socket.write(toFrame(frame.payload));
    }
  });
}

function readFrame(bytes) {
  if (bytes.length < 6) return undefined;
  const isLong = (bytes[1] & 127) === 126;
  const length = isLong ? bytes.readUInt16BE(2) : bytes[1] & 127;
  const start = (isLong ? 4 : 2) + 4;
  if (bytes.length < start + length) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const payload = bytes.subarray(start, start + length).map((byte, i) => byte ^ mask[i % 4]);
  return { opcode: bytes[0] & 15, payload, size: start + length };
}

function toFrame(payload) {
  const long = payload.length > 125;
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = 0x81;
  head[1] = long ? 126 : payload.length;
  if (long) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

const servers = [...new Set([port, healthPort])].map((at) => {
  const server = createServer({ keepAliveTimeout: 30_000 }, (req, res) => {
    handle(req, res).catch(() => res.destroy());
  });
  server.on('upgrade', acceptSocket);
  return server.listen(at, '0.0.0.0', () => console.log(`worker ${worker} listening on port ${at}`));
});

process.on('SIGTERM', () => {
  console.log('worker stopping');
  let open = servers.length;
  for (const server of servers) {
    server.close(() => {
      open -= 1;
      if (open === 0) process.exit(0);
    });
    server.closeIdleConnections();
  }
});
