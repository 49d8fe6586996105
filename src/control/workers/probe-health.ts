import { connect } from 'node:net';

/** What a worker's health path said, or why it said nothing. */
export type HealthAnswer = { kind: 'status'; status: number } | { kind: 'closed' } | { kind: 'silent' };

/** A dial that gets no answer at all: the network of a container that has just been made. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A program that loads may accept and answer only later: it is answered by the same question then. */
const ANSWER_TIMEOUT_MS = 10_000;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})[ \r\n]/;
const MAX_HEAD_BYTES = 4096;

/**
 * Asks once. A connection of its own and the status line are all it takes: an HTTP client would cost more than the
 * worker's answer, forty times a second.
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

/** Whether a connection can be opened. */
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

/** `HEALTH_CHECK_PATH` as it goes into a request line; `/ping` for what cannot. */
export function healthPath(text: string): string {
  const path = text.startsWith('/') ? text : `/${text}`;
  return text !== '' && /^[\x21-\x7e]+$/.test(path) ? path : '/ping';
}
