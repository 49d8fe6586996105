/** Who a request is for, by its Host. */
export type HostTarget =
  | { kind: 'pod'; podId: string; port: number }
  | { kind: 'endpoint'; endpointId: string }
  /** A name under one of ours that can be nobody's. */
  | { kind: 'unknown' }
  /** The API itself. */
  | { kind: 'api' };

/** The names under which pods and load-balancing endpoints answer, in lower case and without port. */
export interface HostNames {
  proxyHost: string;
  lbHost: string;
  /** The API's own name, if it has one: never anybody else's, also where it lies under one of the others. */
  apiHost: string | null;
}

const API: HostTarget = { kind: 'api' };
const NOBODY: HostTarget = { kind: 'unknown' };
const POD_LABEL = /^([a-z0-9]{1,40})-([1-9]\d{0,4})$/;
const ENDPOINT_LABEL = /^[a-z0-9]{1,40}$/;
const MAX_PORT = 65_535;

/**
 * Reads a Host header: `{podId}-{port}.{proxyHost}`, `{endpointId}.{lbHost}`, each with any port. Case and one dot at
 * the end do not matter, as in DNS. All else under our names is nobody's: a name is only what it exactly is.
 */
export function parseHost(host: string, names: HostNames): HostTarget {
  const name = normalizeHost(host);
  if (name === names.apiHost) return API;
  const podLabel = labelUnder(name, names.proxyHost);
  const pod = podLabel === null ? null : POD_LABEL.exec(podLabel);
  if (pod && Number(pod[2]) <= MAX_PORT) return { kind: 'pod', podId: pod[1]!, port: Number(pod[2]) };
  const endpointLabel = labelUnder(name, names.lbHost);
  if (endpointLabel !== null && ENDPOINT_LABEL.test(endpointLabel))
    return { kind: 'endpoint', endpointId: endpointLabel };
  return podLabel === null && endpointLabel === null ? API : NOBODY;
}

/** The host without its port and final dot, in lower case. */
export function normalizeHost(host: string): string {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

const MAX_REMEMBERED = 1000;
const MAX_NAME = 255;

/** `parseHost`, with a memory for the names that are asked for all the time. */
export function cachedHostParser(names: HostNames): (host: string) => HostTarget {
  const known = new Map<string, HostTarget>();
  return (host) => {
    let target = known.get(host);
    if (target === undefined) {
      target = parseHost(host, names);
      if (known.size >= MAX_REMEMBERED) known.clear();
      if (host.length <= MAX_NAME) known.set(host, target);
    }
    return target;
  };
}

/** What stands before `.{parent}`; null when the name is not under it. */
function labelUnder(name: string, parent: string): string | null {
  const at = name.length - parent.length - 1;
  if (at < 0 || name.charCodeAt(at) !== 0x2e || !name.endsWith(parent)) return null;
  return name.slice(0, at);
}
