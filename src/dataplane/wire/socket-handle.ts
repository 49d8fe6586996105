import { Socket } from 'node:net';
import { streamBinding, type WriteRequest } from './stream-binding.ts';

/** A socket's handle, undocumented in node. It calls `onread` with every read, whose size or error is in `streamBaseState`. */
export interface Handle {
  onread: (this: Handle, bytes: ArrayBuffer | undefined) => unknown;
  writeLatin1String(request: WriteRequest, text: string): number;
  writeBuffer(request: WriteRequest, bytes: Buffer): number;
}

interface HandleHolder {
  _handle: Handle | null;
  /** Counts the connection until it is closed. */
  _server: unknown;
}

/** Null once the socket is destroyed. */
export function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as HandleHolder)._handle;
}

/**
 * Has the handle of a socket with `onread` call `deliver` itself with the size of every read: node's own function would look up the same in
 * the socket, and refresh timers that are not set.
 */
export function onRead(socket: Socket, deliver: (size: number) => void): void {
  const handle = handleOf(socket);
  if (streamBinding === null || !handle) return;
  const { streamBaseState, kReadBytesOrError } = streamBinding;
  const passOn = handle.onread;
  const read = (bytes: ArrayBuffer | undefined): unknown => {
    const size = streamBaseState[kReadBytesOrError]!;
    return size > 0 ? deliver(size) : passOn.call(handle, bytes); // the end, or an error
  };
  handle.onread = read;
}

/**
 * Returns a new Socket for the connection of an old one, which is destroyed without it. The only way to use `onread` on an accepted
 * connection: node offers it to clients only. The old socket emits `close` when the connection ends, for its listeners and the server's
 * count of connections.
 */
export function takeOver(
  old: Socket,
  options: { onread?: { buffer: Buffer; callback: (size: number) => boolean } },
): Socket {
  const holder = old as unknown as HandleHolder;
  const handle = holder._handle;
  holder._handle = null;
  const init: object = { handle, allowHalfOpen: true, ...options };
  const socket = new Socket(init);
  if (!old.destroyed) {
    (socket as unknown as HandleHolder)._server = holder._server;
    holder._server = null;
  }
  for (const listener of old.listeners('close')) socket.on('close', listener as () => void);
  old.removeAllListeners('close');
  old.destroy();
  return socket;
}
