import { Failure } from '../../core/errors.ts';
import type { WebhookPolicy } from '../jobs/webhook-policy.ts';
import { MAX_URL_LENGTH } from './git-source.ts';

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80, 'ssh:': 22 };

/** Where a repository is, as its host is reached. */
export interface GitAddress {
  protocol: 'https' | 'http' | 'ssh';
  host: string;
  port: number;
  /** Empty: the URL names none. */
  user: string;
}

/**
 * Returns a repository's URL as it is stored; `git@host:path` is written as `ssh://git@host/path`. Throws `badRequest` for one that
 * is not allowed, or has a password.
 */
export function parseGitUrl(given: string, webhooks: WebhookPolicy): string {
  const [, user, host, path] = /^([\w.-]+)@([\w.-]+):(?!\/)([^\s]+)$/.exec(given) ?? [];
  const text = host === undefined ? given : `ssh://${user}@${host}/${path}`;
  if (text.length > MAX_URL_LENGTH || !URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) throw refuse('is not a URL');
  const url = new URL(text);
  if (!(url.protocol in PORTS)) throw refuse('must begin with https:// or ssh://');
  if (url.password !== '') throw refuse('has a password: keep it in a secret, and name that in auth');
  if (url.search !== '' || url.hash !== '') throw refuse('must end with the path of the repository');
  if (!/^(?:(?!-)[\w.-]+|\[[0-9a-f:.]+\])$/i.test(url.hostname)) throw refuse('has no host');
  if (!/^[\w.-]*$/.test(url.username) || url.username.startsWith('-')) throw refuse('has a user that is not a name');
  if (url.pathname.length < 2) throw refuse('has no path of a repository');
  const fault = webhooks.findFault(asHttps(url).href);
  if (fault !== null) throw refuse(`cannot be reached: ${inWordsOfGit(fault)}`);
  return url.href;
}

/** Reads a stored URL. */
export function addressOf(stored: string): GitAddress {
  const url = new URL(stored);
  return {
    protocol: url.protocol.slice(0, -1) as GitAddress['protocol'],
    host: url.hostname,
    port: Number(url.port) || PORTS[url.protocol]!,
    user: url.username,
  };
}

/** Returns the URL by which the policy for webhooks judges a repository: the same host and port. */
export function asHttps(url: URL): URL {
  return new URL(`https://${url.hostname}:${Number(url.port) || PORTS[url.protocol]}/`);
}

/** One policy says where the server goes for users. */
export function inWordsOfGit(fault: string): string {
  return fault
    .replace('webhooks never reach', 'builds never reach')
    .replace('webhooks do not reach', 'builds do not reach');
}

function refuse(problem: string): Failure {
  return new Failure('badRequest', `url: ${problem}`);
}
