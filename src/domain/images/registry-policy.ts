/**
 * Which registries images may come from. The engine asks whatever host an image's name begins with, so names could otherwise
 * make it connect to a cloud's metadata service or to Podyard itself. Registries on the machine and in its network are normal.
 */
import { isIP } from 'node:net';
import { Failure } from '../../core/errors.ts';
import { domainOf, lookUpName } from '../../core/flow/look-up-name.ts';
import { BASE_HOST, isBuildImage } from '../builds/build-image.ts';
import { findImageFault, parseImageReference } from './image-reference.ts';
import { isOwnAddress, MACHINE_SERVICES, NetworkList, unmapped } from './network-list.ts';

export interface RegistryPolicy {
  /** Patterns of `--registries`; null: any. */
  allowed: readonly string[] | null;
  /** Ports that Podyard listens on, on this machine or as `hosts`. */
  ownPorts: readonly number[];
  /** Names of this machine besides its addresses and `localhost`, in lower case. */
  ownHosts: readonly string[];
  /** The repository of the images that builds made, which their users name otherwise; null: there is none. */
  builds: { host: string; repository: string } | null;
}

const DOCKER_HUB = 'docker.io';
const HUB_NAMES = ['index.docker.io', 'registry-1.docker.io'];
/** Ports that an engine tries for a registry without one. */
const DEFAULT_PORTS = [443, 80];

const machineServices = new NetworkList([...MACHINE_SERVICES[4], ...MACHINE_SERVICES[6]]);

export const ANY_REGISTRY: RegistryPolicy = { allowed: null, ownPorts: [], ownHosts: [], builds: null };
let policy: RegistryPolicy = ANY_REGISTRY;

/** Sets the policy of this process. */
export function useRegistries(other: RegistryPolicy): void {
  policy = other;
}

/** Returns why an image may not be used, as a sentence without a period; null if it may. */
export function findImageRefusal(image: string): string | null {
  const parsed = parseImageReference(image);
  if ('fault' in parsed) return findImageFault(image);
  if (isBuildImage(image)) return null; // of no registry
  const { registry, repository } = parsed;
  if (isOfBuilds(registry, repository))
    return `images of '${registry}/${repository}' are those of builds: use the name that the build gives its image`;
  const { host, ports } = placeOf(registry);
  if (host === BASE_HOST) return `images cannot come from '${registry}': it is no registry`;
  const fault = findPlaceFault(registry, host, ports);
  if (fault !== null) return fault;
  if (policy.allowed === null || policy.allowed.some((pattern) => matches(pattern, registry))) return null;
  return `images from the registry '${registry}' are not allowed here, only from ${policy.allowed.join(', ')}`;
}

/**
 * Resolves the registry's name and throws `unprocessable` if it stands for an address that the policy refuses. Call before
 * the engine connects. A name that cannot be resolved is left to the engine.
 */
export async function checkRegistryAddress(image: string): Promise<void> {
  const parsed = parseImageReference(image);
  if ('fault' in parsed || parsed.registry === DOCKER_HUB) return;
  const { host, ports } = placeOf(parsed.registry);
  const found = await lookUpName(host, domainOf(host)).catch(() => []);
  for (const { address } of found) {
    const fault = findPlaceFault(parsed.registry, address, ports);
    if (fault !== null) throw new Failure('unprocessable', fault);
  }
}

/** A node that has such an image would start it for every user. */
function isOfBuilds(registry: string, repository: string): boolean {
  const { builds } = policy;
  const name = registry.toLowerCase();
  const host = HUB_NAMES.includes(name) ? DOCKER_HUB : name;
  return builds !== null && builds.host === host && builds.repository === repository;
}

function findPlaceFault(registry: string, host: string, ports: readonly number[]): string | null {
  if (isIP(host) !== 0 && machineServices.has(host)) {
    return `images cannot come from '${registry}': it is a link-local address, or one of the cloud's own services`;
  }
  if (ports.some((port) => policy.ownPorts.includes(port)) && isOwnHost(host)) {
    return `images cannot come from '${registry}': Podyard itself listens there`;
  }
  return null;
}

function isOwnHost(host: string): boolean {
  if (policy.ownHosts.includes(host)) return true;
  if (isIP(host) === 0) return /^(?:.+\.)?localhost$/.test(host);
  return isOwnAddress(host);
}

/** Parses it as a URL does, which knows every spelling of an address: `0xa9fe0001`, `[::ffff:169.254.0.1]`. */
function placeOf(registry: string): { host: string; ports: readonly number[] } {
  const [, name, portText] = /^(.*?)(?::(\d+))?$/.exec(registry)!;
  const ports = portText === undefined ? DEFAULT_PORTS : [Number(portText)];
  const host = URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name!;
  const bare = host.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return { host: unmapped(bare.toLowerCase()), ports };
}

/** `ghcr.io`, `*.example.com`, `registry.lan:5000`, `10.0.0.1:*`; without a port, the name without a port. */
function matches(pattern: string, registry: string): boolean {
  const name = registry.toLowerCase();
  if (pattern === DOCKER_HUB && (name === DOCKER_HUB || HUB_NAMES.includes(name))) return true;
  const [start, ...rest] = pattern.split('*') as [string, ...string[]];
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(start)) return false;
  let at = start.length;
  for (const [index, part] of rest.entries()) {
    const found = index === rest.length - 1 ? name.length - part.length : name.indexOf(part, at);
    if (found < at || !name.startsWith(part, found)) return false;
    at = found + part.length;
  }
  // A wildcard in the host does not open ports that the pattern does not name.
  return pattern.includes(':') || !/:\d+$/.test(name) || pattern === '*';
}
