import { createHash, randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { BadFrame, encodeFrame, FrameReader } from '../../../core/web-socket-frames.ts';

/** The channels of a Kubernetes exec connection; a message's first byte names one. */
export const CHANNELS = { input: 0, output: 1, errors: 2, status: 3, resize: 4, close: 255 } as const;
/** Version 5 can end the input; API servers before 1.30 speak 4 only. */
export const CHANNEL_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

const MAX_MESSAGE_BYTES = 2 ** 20;
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The headers of the request that opens the connection, and what its answer must say. */
export function upgradeHeaders(): { headers: Record<string, string>; accept: string } {
  const key = randomBytes(16).toString('base64');
  return {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': CHANNEL_PROTOCOLS.join(', '),
    },
    accept: createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64'),
  };
}

/** Messages of an exec connection to the API server. */
export class PodChannels {
  readonly #socket: Socket;
  readonly #reader = new FrameReader({ isMasked: false, maxMessageBytes: MAX_MESSAGE_BYTES });

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {}); // `read` reports it
  }

  /** Calls `onMessage` for each message until the connection ends, then resolves. */
  read(onMessage: (channel: number, bytes: Buffer) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.on('data', (chunk: Buffer) => {
        try {
          for (const message of this.#reader.take(chunk)) {
            if (message.kind === 'binary' && message.bytes.length > 0) {
              onMessage(message.bytes[0]!, message.bytes.subarray(1));
            } else if (message.kind === 'ping')
              this.#socket.write(encodeFrame({ kind: 'pong', bytes: message.bytes }, true));
            else if (message.kind === 'close') this.#socket.end(encodeFrame(message, true));
          }
        } catch (error) {
          if (!(error instanceof BadFrame)) throw error;
          this.#socket.destroy();
        }
      });
      this.#socket.once('close', resolve);
    });
  }

  /** Calls `done` once the kernel took it: what is written faster waits. */
  send(channel: number, bytes: Buffer, done?: (error?: Error | null) => void): void {
    this.#socket.write(encodeFrame({ kind: 'binary', bytes: Buffer.concat([Buffer.of(channel), bytes]) }, true), done);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
