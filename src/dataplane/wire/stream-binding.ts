/** A handle's write request, kept only if the kernel does not take all of it at once. */
export interface WriteRequest {
  /** Keeps the bytes alive that the handle still writes. */
  bytes?: Buffer | null;
  oncomplete?: (status: number) => void;
}

/** The binding that node's streams read and write with (`process.binding`, which is undocumented). */
interface StreamBinding {
  WriteWrap: new () => WriteRequest;
  streamBaseState: Int32Array;
  kLastWriteWasAsync: number;
  kReadBytesOrError: number;
}

/** Null in a version of Node.js without it: then everything is written through streams, 10 µs slower per request. */
export const streamBinding = findBinding();

function findBinding(): StreamBinding | null {
  try {
    const { WriteWrap, streamBaseState, kLastWriteWasAsync, kReadBytesOrError } = (
      process as unknown as { binding(name: string): Partial<StreamBinding> }
    ).binding('stream_wrap');
    if (!WriteWrap || !streamBaseState || kLastWriteWasAsync === undefined || kReadBytesOrError === undefined)
      return null;
    return { WriteWrap, streamBaseState, kLastWriteWasAsync, kReadBytesOrError };
  } catch {
    return null;
  }
}
