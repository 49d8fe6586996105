/** A command line of this machine, which waits at a port of it for the browser. */
export interface WaitingCli {
  host: string;
  port: number;
  state: string;
  challenge: string;
}

const SECRET = /^[\w-]{43}$/;

/** Reads what the command line wrote into the address; null without it, or if it is not whole. */
export function readWaitingCli(query: URLSearchParams): WaitingCli | null {
  const [host, port, state, challenge] = ['host', 'port', 'state', 'challenge'].map((name) => query.get(name) ?? '');
  if (!/^[\w.-]{1,100}$/.test(host!) || !/^\d{1,5}$/.test(port!)) return null;
  if (Number(port) < 1024 || Number(port) > 65_535 || !SECRET.test(state!) || !SECRET.test(challenge!)) return null;
  return { host: host!, port: Number(port), state: state!, challenge: challenge! };
}

/** Where the browser goes with the code, or without one after a refusal: always a loopback address. */
export function returnUrl({ port, state }: WaitingCli, code: string | null): string {
  const query = new URLSearchParams(code === null ? { error: 'access_denied', state } : { code, state });
  return `http://127.0.0.1:${port}/callback?${query}`;
}
