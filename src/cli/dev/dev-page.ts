import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import type { Target } from '../shared/api-client.ts';

const PAGE = new URL('workers/dev/page.html', OWN_PACKAGE);

/** The endpoint that the page sends jobs to. */
export interface DevEndpoint {
  id: string;
  name: string;
  type: 'QUEUE' | 'LOAD_BALANCING';
}

/** A page that is served until it is closed. */
export interface DevPage {
  /** With the token, after the `#`: browsers send it to no server, and it is in no log. */
  url: string;
  close(): void;
}

/**
 * Serves the page of `podyard dev` on loopback: it sends jobs to one endpoint, and shows their results, streams and the log. Its
 * requests are passed on with the key, which the browser never gets, and only those that it makes. Other pages in the same browser
 * reach nothing: each request needs the token, the right Host, and no foreign Origin.
 */
export async function openDevPage(target: Target, endpoint: DevEndpoint): Promise<DevPage> {
  const html = await readFile(PAGE, 'utf8');
  const token = randomBytes(24).toString('base64url');
  const page = { html, policy: policyOf(html), token, target, endpoint };
  const server = createServer((request, response) => {
    answer(page, request, response).catch((error: Error) => {
      if (!response.headersSent) refuse(response, 502, `The server cannot be reached: ${error.message}`);
      else response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/#${token}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Page {
  html: string;
  policy: string;
  token: string;
  target: Target;
  endpoint: DevEndpoint;
}

/** Only the page's own script and style run; it is shown in no frame, and reaches only this server. */
function policyOf(html: string): string {
  const hashOf = (tag: string) => {
    const [, text = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html) ?? [];
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  };
  return [
    `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; img-src data:; connect-src 'self'`,
    `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ].join('; ');
}

async function answer(page: Page, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Content-Security-Policy', page.policy);
  const { host = '', origin } = request.headers;
  const { port } = request.socket.address() as AddressInfo;
  const isOurs = [`127.0.0.1:${port}`, `localhost:${port}`].includes(host);
  if (!isOurs || (origin !== undefined && origin !== `http://${host}`))
    return refuse(response, 403, 'This page answers only to itself, at the address that the command has printed.');
  const path = (request.url ?? '').split('?', 1)[0]!;
  if (path === '/' && (request.method === 'GET' || request.method === 'HEAD')) {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(page.html);
    return;
  }
  if (!hasToken(request, page.token))
    return refuse(response, 403, 'Open the address that the command has printed: it has the key of this page.');
  if (path === '/about') {
    const { name, type } = page.endpoint;
    return send(response, 200, { name, type });
  }
  const passed = passedPath(page.endpoint, request.method, request.url!);
  if (passed === null) return refuse(response, 404, 'The page has no such path.');
  await passOn(page.target, passed, request, response);
}

function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Returns the path of the API that a request of the page stands for; null for any other. */
function passedPath({ id, type }: DevEndpoint, method: string | undefined, url: string): string | null {
  if (method === 'GET' && url === '/log') return `/v2/serverless/${id}/logs?tail=100`;
  if (type === 'LOAD_BALANCING') {
    const { pathname, search } = new URL(`/v2/${id}${url}`, 'http://localhost'); // without its `..`
    return pathname.startsWith(`/v2/${id}/lb/`) ? pathname + search : null;
  }
  if (method === 'POST' && url === '/job/run') return `/v2/${id}/run`;
  const [, action, job] = /^\/job\/(stream|cancel)\/([\w-]+)$/.exec(url) ?? [];
  if (action === undefined || method !== (action === 'stream' ? 'GET' : 'POST')) return null;
  return `/v2/${id}/${action}/${job}`;
}

/** Request headers that are passed on: content type, accepted types, and the event to resume a stream after. */
const HEADERS = ['content-type', 'accept', 'last-event-id'];

async function passOn(
  { url, key }: Target,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const given = HEADERS.flatMap((name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  const { status, headers, body } = await fetch(url + path, {
    method: request.method!,
    headers: { ...Object.fromEntries(given), authorization: `Bearer ${key}` },
    ...(hasBody && { body: Readable.toWeb(request) as ReadableStream<Uint8Array>, duplex: 'half' as const }),
    redirect: 'manual',
    signal: gone.signal,
  });
  response.writeHead(status, { 'Content-Type': headers.get('content-type') ?? 'text/plain' });
  response.flushHeaders();
  if (body === null) response.end();
  else await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response).catch(() => {}); // the browser has gone
}

function refuse(response: ServerResponse, status: number, detail: string): void {
  send(response, status, { detail });
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}
