/**
 * Where webhooks may go. The server sends them, so a URL could otherwise make it call services that no workload can reach:
 * its own, its network's, the cloud's (docs/decisions/0076-where-webhooks-go.md).
 */
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { AllowedReceiver, WebhookSettings } from '../../config/webhook-settings.ts';
import { domainOf, lookUpName } from '../../core/flow/look-up-name.ts';
import { isOwnAddress, LOOPBACK_NETWORKS, MACHINE_SERVICES, NetworkList, unmapped } from '../images/network-list.ts';

/** Never reached, whatever the settings: nothing there receives webhooks, and metadata services give out credentials. */
const machineServices = new NetworkList([...MACHINE_SERVICES[4], ...MACHINE_SERVICES[6]]);

/**
 * Not the public internet: IANA's special-purpose registries, with documentation and benchmarking networks, and IPv6 forms that
 * embed an IPv4 address (NAT64, Teredo, 6to4), which could stand for any. IPv6 is public in 2000::/3 alone.
 */
const reserved = new NetworkList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  '224.0.0.0/3',
  ...['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
const loopback = new NetworkList(LOOPBACK_NETWORKS);

type Place = { address: string; family: 4 | 6 };
type Target = { host: string; port: number };
type Opening = { port: number | null } & (
  | { host: string }
  /** `isOwn`: it is one address, or part of loopback. */
  | { networks: NetworkList; isOwn: boolean }
);

const ADVICE = 'an operator can allow it with --webhook-networks (PODYARD_WEBHOOK_NETWORKS)';

export class WebhookPolicy {
  readonly #allowPrivate: boolean;
  readonly #openings: readonly Opening[];

  constructor({ allowPrivate, allowed }: WebhookSettings) {
    this.#allowPrivate = allowPrivate;
    this.#openings = allowed.map(toOpening);
  }

  /**
   * Returns what is wrong with a webhook that a client names, to follow its place; null if it may be kept. A name is not resolved
   * here: `resolve` judges what it stands for when the webhook is sent.
   */
  findFault(webhook: unknown): string | null {
    if (!isHttpUrl(webhook)) return 'must be an http or https URL';
    const target = targetOf(new URL(webhook));
    const literals = literalsOf(target.host);
    const [first] = literals.map((address) => this.#findRefusal(target, address)).filter((fault) => fault !== null);
    if (first === undefined || literals.some((address) => this.#findRefusal(target, address) === null)) return null;
    return `${target.host} is ${first}`;
  }

  /**
   * Resolves to the address to connect to: the caller connects to it and to no other, so that a name cannot be rebound in
   * between. `owner`: whose names that are not answered hold up only each other; default: the domain's. Throws a WebhookRefused if
   * the name stands for none that is allowed.
   */
  async resolve(url: URL, owner?: string): Promise<Place> {
    const target = targetOf(url);
    const found = await addressesOf(target.host, owner ?? domainOf(target.host));
    const faults = found.map(({ address }) => this.#findRefusal(target, address));
    const chosen = found[faults.indexOf(null)];
    if (chosen) return { address: chosen.address, family: chosen.family === 6 ? 6 : 4 };
    const verb = literalsOf(target.host).length > 0 ? 'is' : 'stands for';
    throw new WebhookRefused(target.host, `${target.host} ${verb} ${faults[0] ?? 'no address'}`);
  }

  /** Returns what is wrong with an address, to follow "is"; null if it may be reached. */
  #findRefusal(target: Target, address: string): string | null {
    if (machineServices.has(address)) {
      return "a link-local address or one of the cloud's own services, which webhooks never reach";
    }
    if (isPublicAddress(address)) return null;
    const isOwn = isOwnAddress(address);
    if (this.#allowPrivate || this.#openings.some((opening) => opens(opening, target, { address, isOwn }))) return null;
    const what = isOwn ? "an address of the server's own machine" : 'a private or reserved address';
    return `${what}, which webhooks do not reach: ${ADVICE}`;
  }
}

/** Throws in words, with the code of the resolver, if the name stands for nothing. */
async function addressesOf(host: string, owner: string): Promise<LookupAddress[]> {
  try {
    return await lookUpName(host, owner);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTFOUND' && code !== 'EAI_AGAIN') throw error;
    const why = code === 'ENOTFOUND' ? `there is no host named ${host}` : `no name server answered for ${host}`;
    throw Object.assign(new Error(why, { cause: error }), { code });
  }
}

/** True for an address of the public internet. */
export function isPublicAddress(address: string): boolean {
  return !machineServices.has(address) && !isOwnAddress(address) && !reserved.has(address);
}

/** A webhook's host is not allowed. The message is for users. */
export class WebhookRefused extends Error {
  readonly host: string;

  constructor(host: string, message: string) {
    super(message);
    this.name = 'WebhookRefused';
    this.host = host;
  }
}

function toOpening(receiver: AllowedReceiver): Opening {
  if ('host' in receiver) return receiver;
  const { network, port } = receiver;
  const [address, prefix] = network.split('/');
  const isIpv4 = isIP(address!) === 4;
  const isOneAddress = prefix === undefined || Number(prefix) === (isIpv4 ? 32 : 128);
  const isOwn = isOneAddress || (isIpv4 && Number(prefix) >= 8 && loopback.has(address!));
  return { networks: new NetworkList([network]), isOwn, port };
}

/** A network around this machine is opened for its other hosts: the machine's own addresses are opened one by one. */
function opens(opening: Opening, target: Target, { address, isOwn }: { address: string; isOwn: boolean }): boolean {
  if (opening.port !== null && opening.port !== target.port) return false;
  if ('host' in opening) {
    const { host } = opening;
    return host.startsWith('*.') ? target.host.endsWith(host.slice(1)) : target.host === host;
  }
  return (!isOwn || opening.isOwn) && opening.networks.has(address);
}

/** The host as a name or a bare address; the URL has normalized every spelling of an address. */
function targetOf(url: URL): Target {
  const bare = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return { host: unmapped(bare), port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) };
}

/** Returns the addresses that a host is without being resolved; none for a name. */
function literalsOf(host: string): string[] {
  if (isIP(host) !== 0) return [host];
  return /^(?:.+\.)?localhost$/.test(host) ? ['127.0.0.1', '::1'] : [];
}

/** False also for a URL with NUL, which PostgreSQL's text cannot hold. */
function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && URL.canParse(value) && /^https?:\/\//i.test(value) && !value.includes('\0');
}
