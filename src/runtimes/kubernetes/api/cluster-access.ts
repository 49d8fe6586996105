import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:http';
import { Agent } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Cluster, KubeConfig } from '@kubernetes/client-node';
import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { Failure, messageOf } from '../../../core/errors.ts';
import { Agent as HttpAgent } from '../../../core/node-http.ts';

/** The address of an API server, and how to authenticate. */
export interface ClusterAccess {
  readonly server: URL;
  /** Our own namespace, or the kubeconfig's; null when neither says. */
  readonly namespace: string | null;
  /** Returns headers and the agent: for long-lived requests when `isLong`. */
  credentials(isLong: boolean): Promise<Pick<RequestOptions, 'agent' | 'headers' | 'auth'>>;
  /** Makes the next request read the credentials again. */
  forget(): void;
  close(): void;
}

/** The TLS settings of a connection. */
interface Identity {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** How long credentials are cached: others rotate tokens and certificates, in files or by programs. */
const CREDENTIALS_TTL_MS = 60_000;
/** Connections for short requests; each carries one request at a time. */
const MAX_CONNECTIONS = 64;
const KEEP_ALIVE = { keepAlive: true, keepAliveMsecs: 10_000 };

/** HTTP agents for one TLS identity. A new identity gets new ones; the old ones end with their requests. */
class Agents {
  readonly #isTls: boolean;
  #identity: Identity | undefined;
  #short: HttpAgent | Agent | undefined;
  #long: HttpAgent | Agent | undefined;

  constructor(isTls: boolean) {
    this.#isTls = isTls;
  }

  of(identity: Identity, isLong: boolean): HttpAgent | Agent {
    if (!this.#identity || !isSame(identity, this.#identity)) {
      const options = this.#isTls ? { ...KEEP_ALIVE, ...tlsOptions(identity) } : KEEP_ALIVE;
      const make = (limits: object) =>
        this.#isTls ? new Agent({ ...options, ...limits }) : new HttpAgent({ ...options, ...limits });
      this.#short = make({ maxSockets: MAX_CONNECTIONS });
      this.#long = make({ maxFreeSockets: 8 });
      this.#identity = identity;
    }
    return (isLong ? this.#long : this.#short)!;
  }

  close(): void {
    this.#short?.destroy();
    this.#long?.destroy();
  }
}

/** One context for all connections: parsing the certificates for each would cost more than the rest of the connection. */
function tlsOptions({ ca, cert, key, ...others }: Identity): object {
  const pem = Object.fromEntries(Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined));
  return { ...others, secureContext: createSecureContext(pem) };
}

function isSame(one: Identity, other: Identity): boolean {
  const isEqual = (name: 'ca' | 'cert' | 'key') =>
    one[name] === other[name] || String(one[name]) === String(other[name]);
  const isEither = one.servername === other.servername && one.rejectUnauthorized === other.rejectUnauthorized;
  return isEither && isEqual('ca') && isEqual('cert') && isEqual('key');
}

/** A server that needs no authentication. */
export function openAccess(server: string): ClusterAccess {
  const url = new URL(server);
  const agents = new Agents(url.protocol === 'https:');
  return {
    server: url,
    namespace: null,
    credentials: async (isLong) => ({ agent: agents.of({}, isLong) }),
    forget: () => {},
    close: () => agents.close(),
  };
}

/** Returns access to the cluster the settings name, by default the one this runs in. */
export function accessOf({ kubeconfig, context, inCluster }: KubernetesSettings): Promise<ClusterAccess> {
  if (inCluster && kubeconfig === null && context === null) return Promise.resolve(inClusterAccess(inCluster));
  return kubeconfigAccess(kubeconfig, context);
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Access by the pod's service account. It is three files and an address: a server inside a cluster need not load the
 * library that reads kubeconfigs, which takes 0.7 s and 88 MB.
 */
export function inClusterAccess(address: { host: string; port: string }, folder = ACCOUNT): ClusterAccess {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  const agents = new Agents(true);
  const read = (name: string) => readFileSync(`${folder}/${name}`);
  let known: { ca: Buffer; token: string; at: number } | undefined;
  return {
    server: new URL(`https://${host}:${address.port}`),
    namespace: read('namespace').toString().trim(),
    credentials: async (isLong) => {
      if (!known || performance.now() - known.at > CREDENTIALS_TTL_MS) {
        known = { ca: read('ca.crt'), token: read('token').toString().trim(), at: performance.now() };
      }
      return { agent: agents.of({ ca: known.ca }, isLong), headers: { authorization: `Bearer ${known.token}` } };
    },
    forget: () => {
      known = undefined;
    },
    close: () => agents.close(),
  };
}

async function loadKubeconfig(
  file: string | null,
  context: string | null,
): Promise<{ config: KubeConfig; cluster: Cluster }> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (file === null) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    const text = `The kubeconfig ${file ?? ''} cannot be read: ${messageOf(error)}`.replace('  ', ' ');
    throw new Failure('unavailable', text, { cause: error });
  }
  if (context !== null) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster) return { config, cluster };
  const name = config.getCurrentContext();
  const known = config.getContexts().map((one) => one.name);
  const text = `The kubeconfig has no context '${name}'; available: ${known.join(', ') || 'none'}`;
  throw new Failure('unavailable', text);
}

/** Access by a kubeconfig: the given file, else kubectl's default. Rejects with a sentence when it cannot be used. */
async function kubeconfigAccess(file: string | null, context: string | null): Promise<ClusterAccess> {
  const { config, cluster } = await loadKubeconfig(file, context);
  const server = new URL(cluster.server);
  const agents = new Agents(server.protocol === 'https:');
  type Known = { identity: Identity; proxy: RequestOptions['agent']; more: Pick<RequestOptions, 'headers' | 'auth'> };
  const read = async (): Promise<Known> => {
    const options: RequestOptions & Identity = {};
    await config.applyToHTTPSOptions(options as never);
    const { ca, cert, key, servername, rejectUnauthorized, headers, auth } = options;
    const identity = Object.fromEntries(
      Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(([, value]) => value !== undefined),
    );
    return { identity, proxy: cluster.proxyUrl ? options.agent : undefined, more: { headers, auth } };
  };
  let known: { is: Promise<Known>; at: number } | undefined;
  return {
    server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? null,
    credentials: async (isLong) => {
      if (!known || performance.now() - known.at > CREDENTIALS_TTL_MS) known = { is: read(), at: performance.now() };
      const { identity, proxy, more } = await known.is.catch((error) => {
        known = undefined;
        throw new Failure('unavailable', `The kubeconfig’s credentials could not be obtained: ${messageOf(error)}`, {
          cause: error,
        });
      });
      return { ...more, agent: proxy ?? agents.of(identity, isLong) };
    },
    forget: () => {
      known = undefined;
    },
    close: () => agents.close(),
  };
}

/** Returns the address of this machine on the route to the server. Sends nothing: connecting a UDP socket only picks a route. */
export async function ownAddress(server: URL): Promise<string> {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.connect(Number(server.port || 443), host);
    await once(socket, 'connect');
    return socket.address().address;
  } finally {
    socket.close();
  }
}
