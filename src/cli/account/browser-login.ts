/**
 * Signing in with a browser: on this machine, which returns to a loopback address (RFC 8252, RFC 7636), or on another one, by a short
 * code (RFC 8628). The key comes in the answer to a request of this process, and so is in no URL.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { openInBrowser } from './open-in-browser.ts';

type Pieces = Pick<CliPieces, 'terminal' | 'note'>;

/** The key that the server made for this command line. */
export interface CliKey {
  key: string;
  keyId: string;
  name: string;
  expiresAt: string;
  userName: string;
}

/** How long a person has to sign in and approve. */
const WAIT_MS = 10 * 60_000;

/** True in a remote shell, where a browser would open on the wrong machine. */
export function isRemoteShell(env: Terminal['env']): boolean {
  return Boolean(env.SSH_CONNECTION) && !env.DISPLAY && !env.WAYLAND_DISPLAY;
}

/** Opens the console, where the person approves, and waits until their browser comes back. Throws if they deny it, or do not come. */
export async function loginInBrowser(pieces: Pieces, url: string): Promise<CliKey> {
  const client = new ApiClient({ url, key: '' }, pieces.terminal);
  await client.json('GET', '/sign-in/providers'); // a server that is away is said here, and not in the browser
  const [state, verifier] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
  const visit = await listenOnce(pieces.terminal, state, (code) =>
    client.json<CliKey>('POST', '/sign-in/cli/token', { code, verifier }),
  );
  try {
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const query = new URLSearchParams({ host: hostName(), port: String(visit.port), state, challenge });
    const page = `${url}/#/login?${query}`;
    pieces.note(`Approve this login in your browser:\n\n  ${page}\n`);
    pieces.note('No browser on this machine? Stop this, and run `podyard login --device`.');
    openInBrowser(pieces, page);
    return await visit.key;
  } finally {
    visit.close();
  }
}

/** Shows a short code, which a person types on a page of the console in any browser, and asks for the key until they did. */
export async function loginByDevice({ terminal, note }: Pieces, url: string): Promise<CliKey> {
  const client = new ApiClient({ url, key: '' }, terminal);
  const device = await client.json<DeviceLogin>('POST', '/sign-in/cli/device', { host: hostName() });
  note(`Open ${url}/#/login in any browser, and type this code:\n\n  ${device.userCode}\n`);
  note('Is there no browser that reaches it? Stop this, and run `podyard login --with-key`.');
  for (let waitSeconds = device.intervalSeconds; ; ) {
    await sleep(waitSeconds * 1000, undefined, { signal: terminal.interrupted });
    try {
      const answer = await client.json<CliKey | { waitSeconds: number }>('POST', '/sign-in/cli/device/token', {
        code: device.code,
      });
      if ('key' in answer) return answer;
      waitSeconds = answer.waitSeconds;
    } catch (error) {
      const wait = error instanceof ApiRefusal && error.status === 429 ? error.retryAfterSeconds : null;
      if (wait === null) throw error;
      waitSeconds = wait;
    }
  }
}

interface DeviceLogin {
  code: string;
  userCode: string;
  intervalSeconds: number;
}

/** Returns this machine's name for itself, in letters that need no encoding. */
function hostName(): string {
  return (
    hostname()
      .replace(/[^\w.-]/g, '')
      .slice(0, 100) || 'unnamed'
  );
}

interface Visit {
  port: number;
  /** Resolves once the browser has brought a code, and it was redeemed. */
  key: Promise<CliKey>;
  close(): void;
}

/**
 * Listens on a loopback address until the browser returns with `state`. Requests without it change nothing: every program of the
 * machine can send some.
 */
async function listenOnce(
  terminal: Terminal,
  state: string,
  redeem: (code: string) => Promise<CliKey>,
): Promise<Visit> {
  const { promise: key, resolve, reject } = Promise.withResolvers<CliKey>();
  key.catch(() => {}); // it may be rejected before it is awaited
  let isUsed = false;
  const server = createServer((req, res) => {
    const query = readReturn(req, (server.address() as AddressInfo).port);
    if (query?.get('state') !== state || isUsed) return answer(res, 404, 'Nothing is asked for here.');
    isUsed = true;
    const code = query.get('code');
    if (code === null) {
      reject(new Error('this login was denied in the console'));
      return answer(res, 200, 'The login was denied. You can close this tab.');
    }
    redeem(code).then(
      (redeemed) => {
        answer(res, 200, 'The command line is signed in. You can close this tab.');
        resolve(redeemed);
      },
      (error: unknown) => {
        answer(res, 400, `The command line could not sign in: ${messageOf(error)}.`);
        reject(error);
      },
    );
  });
  await new Promise<void>((listening, failed) => {
    server.once('error', failed).listen(0, '127.0.0.1', listening);
  });
  const giveUp = setTimeout(() => reject(new Error('nobody approved the login within ten minutes')), WAIT_MS);
  const stop = () => reject(new Error('stopped'));
  terminal.interrupted.addEventListener('abort', stop);
  return {
    port: (server.address() as AddressInfo).port,
    key,
    close: () => {
      clearTimeout(giveUp);
      terminal.interrupted.removeEventListener('abort', stop);
      server.close();
      server.closeIdleConnections();
    },
  };
}

/** Returns what the browser brings; null for anything that is not a visit of the return address under its own name. */
function readReturn({ method, url = '', headers }: IncomingMessage, port: number): URLSearchParams | null {
  const isOurs = method === 'GET' && headers.host === `127.0.0.1:${port}`;
  const [path, query] = url.split('?', 2);
  return isOurs && path === '/callback' ? new URLSearchParams(query) : null;
}

function answer(res: ServerResponse, status: number, text: string): void {
  const shown = text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  res
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    .end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>Podyard</title><body><main><h1>${shown}</h1></main></body></html>\n`,
    );
}
