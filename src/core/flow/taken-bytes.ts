/** While a client has not read a response: how often that is checked, and what it must have read since: 8 KiB a second. */
export const READER_CHECK_MS = 30_000;
export const READER_MIN_BYTES = (8 * 1024 * READER_CHECK_MS) / 1_000;

/** Undocumented in node: what waits in a handle. That of TLS has the handle of its connection as its parent. */
interface Handle {
  readonly writeQueueSize?: number;
  readonly _parent?: Handle;
}

/** Undocumented in node: what a socket has passed on to its handle. */
interface Inside {
  readonly _bytesDispatched?: number;
  readonly _handle?: Handle | null;
}

/**
 * Returns how many written bytes the kernel has taken. It grows only while the peer reads. `bytesWritten` counts a large
 * write as a whole at once, and says nothing about a peer that takes a minute to read it; it is what a node version without
 * these members gets, and what a connection gets that counts so itself.
 */
export function takenBytes(socket: { readonly bytesWritten: number }): number {
  const { _bytesDispatched: dispatched, _handle: handle } = socket as Inside;
  if (typeof dispatched !== 'number') return socket.bytesWritten;
  return dispatched - (handle?.writeQueueSize ?? 0) - (handle?._parent?.writeQueueSize ?? 0);
}
