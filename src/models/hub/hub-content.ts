/** A content that is here, or on its way. */
export interface HubContent {
  /** Nothing had to be fetched for it. */
  isStored: boolean;
  /** Yields the bytes from `start` to before `end`. Throws when they do not come; the last one comes only once the digest was right. */
  read(start: number, end: number): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}
