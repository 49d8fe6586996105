import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Failure, messageOf } from '../core/errors.ts';

/** Where an engine listens: a socket, a host, with TLS or without, or a machine that has it and answers ssh. */
export type EngineAddress =
  | { socketPath: string }
  | { host: string; port: number; tls: EngineTls | null }
  | { host: string; port: number | null; ssh: { user: string | null } };

/** PEM: the authority of the engine's certificate, and what Podyard shows the engine. */
interface EngineTls {
  ca: string;
  cert: string;
  key: string;
}

const USUAL_SOCKET = '/var/run/docker.sock';
const PORT = 2375;
const TLS_PORT = 2376;

/**
 * Returns the address that Docker's own variables name: DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH. Throws a Failure
 * `unavailable` if they name none, or the certificates cannot be read.
 */
export function readEngineAddress(env: NodeJS.ProcessEnv = process.env): EngineAddress {
  const given = env.DOCKER_HOST;
  if (!given || given === 'unix://') return { socketPath: usualSocket() };
  if (given.startsWith('unix://')) return { socketPath: given.slice('unix://'.length) };
  const url = URL.parse(given.includes('//') ? given : `tcp://${given}`);
  if (!url?.hostname || !['tcp:', 'http:', 'https:', 'ssh:'].includes(url.protocol)) {
    const forms = 'unix:///path/to/socket, tcp://host:port or ssh://user@host';
    throw new Failure(
      'unavailable',
      `DOCKER_HOST '${given}' is not an address of a container engine, such as ${forms}`,
    );
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? null : Number(url.port);
  if (url.protocol === 'ssh:') return { host, port, ssh: { user: decodeURIComponent(url.username) || null } };
  const hasTls = url.protocol === 'https:' || env.DOCKER_TLS_VERIFY === '1' || port === TLS_PORT;
  if (!hasTls) return { host, port: port ?? PORT, tls: null };
  return { host, port: port ?? TLS_PORT, tls: readTls(env.DOCKER_CERT_PATH || join(homedir(), '.docker')) };
}

/** Docker Desktop's socket is in the home directory. */
function usualSocket(): string {
  const own = join(homedir(), '.docker', 'run', 'docker.sock');
  return existsSync(own) ? own : USUAL_SOCKET;
}

function readTls(folder: string): EngineTls {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  try {
    return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
  } catch (error) {
    const text = `The certificates for DOCKER_HOST cannot be read (DOCKER_CERT_PATH): ${messageOf(error)}`;
    throw new Failure('unavailable', text, { cause: error });
  }
}
