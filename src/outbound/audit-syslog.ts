import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { syslogMessage } from './audit-formats.ts';
import type { AuditReceiver } from './audit-receivers.ts';

/** A server of syslog. `UDP` may lose what it sends. */
export interface SyslogServer {
  transport: 'TCP' | 'TLS' | 'UDP';
  host: string;
  port: number;
}

const TIMEOUT_MS = 10_000;
/** The most bytes that a datagram carries. */
const MAX_DATAGRAM = 65_000;

/**
 * Sends entries as syslog (RFC 5424). Over TCP and TLS each portion has a connection and octet counts (RFC 6587, RFC 5425), and counts as accepted when
 * the server has closed it without an error after us: syslog itself acknowledges nothing.
 */
export function auditSyslog(server: SyslogServer): AuditReceiver {
  return {
    kind: 'SYSLOG',
    deliver: async ({ entries }, signal) => {
      const messages = entries.map((entry) => Buffer.from(syslogMessage(entry, hostname())));
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      await (server.transport === 'UDP' ? sendDatagrams : sendStream)(server, messages, limit).catch((cause) => {
        const reason = limit.aborted ? 'it took too long' : (cause.code ?? cause.message);
        throw new Error(`the syslog server failed: ${reason}`, { cause });
      });
    },
  };
}

async function sendStream(
  { transport, host, port }: SyslogServer,
  messages: readonly Buffer[],
  signal: AbortSignal,
): Promise<void> {
  const isSecure = transport === 'TLS';
  const socket: Socket = isSecure
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }) })
    : connect({ host, port });
  const stop = () => socket.destroy(new Error('stopped'));
  signal.addEventListener('abort', stop);
  try {
    if (signal.aborted) stop();
    await once(socket, isSecure ? 'secureConnect' : 'connect');
    const closed = once(socket, 'close');
    socket.resume();
    socket.end(Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message])));
    await closed;
  } finally {
    signal.removeEventListener('abort', stop);
    socket.on('error', () => {}).destroy();
  }
}

async function sendDatagrams(
  { host, port }: SyslogServer,
  messages: readonly Buffer[],
  signal: AbortSignal,
): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    for (const message of messages) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        socket.send(message.subarray(0, MAX_DATAGRAM), port, host, (error) => (error ? reject(error) : resolve()));
      });
    }
  } finally {
    socket.close();
  }
}
