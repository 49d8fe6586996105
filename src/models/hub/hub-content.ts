/** A content that is here, or on its way. */
export interface HubContent {
  /** Nothing had to be fetched for it. */
  isStored: boolean;
  /**
   * Fills the buffer with what is here of the bytes from `at` on, and resolves with how many, at least one. Throws when they do not come; the last one comes
   * only once the digest was right.
   */
  read(buffer: Buffer, at: number): Promise<number>;
  close(): Promise<void>;
}
