/**
 * Image references by the grammar of the OCI distribution specification and its reference implementation:
 * `[domain[:port]/]path[:tag][@digest]`. A reference is put into URLs of the engine and of registries, so
 * nothing that is not one may get that far. Every pattern here is linear.
 */

export interface ImageReference {
  /** `docker.io` where the reference names none. */
  registry: string;
  repository: string;
  tag: string | null;
  digest: string | null;
}

/** Of domain and path together, as registries limit it. */
const MAX_NAME_LENGTH = 255;
const PATH_COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const DOMAIN_COMPONENT = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/;
const IPV6_HOST = /^\[[0-9a-fA-F:]+\]$/;
const PORT = /^[0-9]{1,5}$/;
const TAG = /^\w[\w.-]{0,127}$/;
/** By the OCI image specification, whose lengths depend on the algorithm and are left to the registry. */
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;
const QUOTED_LENGTH = 100;

/** Parses a reference, or returns what is wrong with it as the end of a sentence ("…: empty path component"). */
export function parseImageReference(text: string): ImageReference | { fault: string } {
  if (text === '') return { fault: 'it is empty' };
  const [named, digest, ...more] = text.split('@') as [string, ...string[]];
  if (more.length > 0) return { fault: "more than one '@'" };
  if (digest !== undefined && !DIGEST.test(digest)) return { fault: 'the digest is malformed' };
  const { name, tag } = splitTag(named);
  if (tag !== null && !TAG.test(tag)) return { fault: 'the tag is malformed' };
  if (name.length > MAX_NAME_LENGTH) return { fault: `the name is longer than ${MAX_NAME_LENGTH} characters` };
  const parts = name.split('/');
  const domain = parts.length > 1 && isDomain(parts[0]!) ? parts.shift()! : null;
  const fault = (domain === null ? null : findDomainFault(domain)) ?? findPathFault(parts);
  if (fault !== null) return { fault };
  return { registry: domain ?? 'docker.io', repository: parts.join('/'), tag, digest: digest ?? null };
}

/** The sentence of a refusal, or null for a valid reference. */
export function findImageFault(image: string): string | null {
  const parsed = parseImageReference(image);
  if (!('fault' in parsed)) return null;
  const quoted = image.length > QUOTED_LENGTH ? `${image.slice(0, QUOTED_LENGTH)}…` : image;
  return `'${quoted}' is not a valid image reference: ${parsed.fault}`;
}

/** A colon after the last slash starts the tag; one before it belongs to a port. */
function splitTag(named: string): { name: string; tag: string | null } {
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return colon === -1 ? { name: named, tag: null } : { name: named.slice(0, colon), tag: named.slice(colon + 1) };
}

/** The engine's rule for whether the first component names a registry. */
function isDomain(first: string): boolean {
  return /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
}

function findDomainFault(domain: string): string | null {
  const portColon = domain.startsWith('[') ? domain.indexOf(':', domain.indexOf(']')) : domain.indexOf(':');
  const host = portColon === -1 ? domain : domain.slice(0, portColon);
  const port = portColon === -1 ? null : domain.slice(portColon + 1);
  if (port !== null && !PORT.test(port)) return `the port of the registry '${domain}' is malformed`;
  if (IPV6_HOST.test(host) || host.split('.').every((part) => DOMAIN_COMPONENT.test(part))) return null;
  return `the registry '${domain}' is not a host name`;
}

function findPathFault(components: readonly string[]): string | null {
  for (const component of components) {
    if (component === '') return 'empty path component';
    if (component !== component.toLowerCase()) return `'${component}' has upper-case letters`;
    if (!PATH_COMPONENT.test(component)) return `'${component}' is not a valid path component`;
  }
  return null;
}
