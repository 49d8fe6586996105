import { connect } from 'node:net';

/** A worker's answer on its health path: a status, no open port, or no answer. */
export type HealthAnswer = { kind: 'status'; status: number } | { kind: 'closed' } | { kind: 'silent' };

/** A new container's network may drop packets: a dial without an answer ends after this. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A loading program may accept the connection and answer later. */
const ANSWER_TIMEOUT_MS = 10_000;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})[ \r\n]/;
const MAX_HEAD_BYTES = 4096;

/**
 * Sends one GET and reads the status line, on a connection of its own. An HTTP client would cost more than the worker's
 * answer, forty times a second.
 */
export function probeHealth(
  at: { host: string; port: number },
  path: string,
  signal: AbortSignal,
): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ host: at.host, port: at.port, noDelay: true });
    let head = '';
    const settle = (answer: HealthAnswer) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(answer);
    };
    const onAbort = () => settle({ kind: 'silent' });
    let timer = setTimeout(settle, CONNECT_TIMEOUT_MS, { kind: 'closed' });
    signal.addEventListener('abort', onAbort);
    socket.once('connect', () => {
      clearTimeout(timer);
      timer = setTimeout(settle, ANSWER_TIMEOUT_MS, { kind: 'silent' });
      const host = at.host.includes(':') ? `[${at.host}]` : at.host;
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}:${at.port}\r\nUser-Agent: Podyard-Health\r\nConnection: close\r\n\r\n`,
      );
    });
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      const status = STATUS_LINE.exec(head)?.[1];
      if (status !== undefined) settle({ kind: 'status', status: Number(status) });
      else if (head.length > MAX_HEAD_BYTES) settle({ kind: 'closed' });
    });
    socket.once('error', () => settle({ kind: 'closed' }));
    socket.once('close', () => settle({ kind: 'closed' }));
  });
}

/** True when a connection can be opened. */
export function canConnect(at: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: at.host, port: at.port });
    const settle = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
