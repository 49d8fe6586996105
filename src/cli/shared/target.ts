/** A server and a key for it. */
export interface Target {
  url: string;
  key: string;
}
