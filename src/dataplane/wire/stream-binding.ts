/** A handle's write request, kept only if the kernel does not take all of it at once. */
export interface WriteRequest {
  oncomplete?: (status: number) => void;
}

/** The binding that node's streams write with (`process.binding`, which is undocumented). */
interface StreamBinding {
  WriteWrap: new () => WriteRequest;
  streamBaseState: Int32Array;
  kLastWriteWasAsync: number;
}

/** Null in a version of Node.js without it: then everything is written through streams, 10 µs slower per request. */
export const streamBinding = findBinding();

function findBinding(): StreamBinding | null {
  try {
    const { WriteWrap, streamBaseState, kLastWriteWasAsync } = (
      process as unknown as { binding(name: string): Partial<StreamBinding> }
    ).binding('stream_wrap');
    if (!WriteWrap || !streamBaseState || kLastWriteWasAsync === undefined) return null;
    return { WriteWrap, streamBaseState, kLastWriteWasAsync };
  } catch {
    return null;
  }
}
