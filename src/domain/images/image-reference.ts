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

/** Limit of domain and path together, as in registries. */
const MAX_NAME_LENGTH = 255;
export const MAX_REFERENCE_LENGTH = 512;

const PATH_COMPONENT = '[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*';
const HOST_COMPONENT = '[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*';
const DOMAIN = `(?:${HOST_COMPONENT}(?:[.]${HOST_COMPONENT})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]{1,5})?`;
const TAG = '[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}';
/** By the OCI image specification, whose lengths depend on the algorithm and are left to the registry. */
const DIGEST = '[a-z0-9]+(?:[+._-][a-z0-9]+)*:[a-zA-Z0-9=_-]+';

/** References that `parseImageReference` takes, but for lengths, for descriptions of the interface. */
export const IMAGE_PATTERN = `^(?:${DOMAIN}/)?${PATH_COMPONENT}(?:/${PATH_COMPONENT})*(?::${TAG})?(?:@${DIGEST})?$`;

/** The beginning of an image that names its registry. */
export const REGISTRY_HOST = new RegExp(`^(?:${DOMAIN})$`);

const [isDomain, isPathComponent, isTag, isDigest] = [DOMAIN, PATH_COMPONENT, TAG, DIGEST].map((pattern) => {
  const regExp = new RegExp(`^(?:${pattern})$`);
  return (text: string) => regExp.test(text);
}) as [Test, Test, Test, Test];
type Test = (text: string) => boolean;

const QUOTED_LENGTH = 100;

/** Parses a reference, or returns what is wrong with it as the end of a sentence ("…: empty path component"). */
export function parseImageReference(text: string): ImageReference | { fault: string } {
  if (text === '') return { fault: 'it is empty' };
  if (text.length > MAX_REFERENCE_LENGTH) return { fault: `it is longer than ${MAX_REFERENCE_LENGTH} characters` };
  const [named, digest, ...more] = text.split('@') as [string, ...string[]];
  if (more.length > 0) return { fault: "more than one '@'" };
  if (digest !== undefined && !isDigest(digest)) return { fault: 'the digest is malformed' };
  const { name, tag } = splitTag(named);
  if (tag !== null && !isTag(tag)) return { fault: 'the tag is malformed' };
  if (name.length > MAX_NAME_LENGTH) return { fault: `the name is longer than ${MAX_NAME_LENGTH} characters` };
  const [first, ...rest] = name.split('/') as [string, ...string[]];
  const hasDomain = rest.length > 0 && namesRegistry(first);
  const path = hasDomain ? rest : [first, ...rest];
  const fault = hasDomain && !isDomain(first) ? domainFault(first) : findPathFault(path);
  if (fault !== null) return { fault };
  return { registry: hasDomain ? first : 'docker.io', repository: path.join('/'), tag, digest: digest ?? null };
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

/** The engine's rule, except that a component that only a path can have (`a_b.c`) belongs to the path. */
function namesRegistry(first: string): boolean {
  const looksLikeHost = /[.:[]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  return looksLikeHost && (isDomain(first) || !isPathComponent(first));
}

function domainFault(domain: string): string {
  const host = domain.replace(/:[^:\]]*$/, '');
  return host !== domain && isDomain(host)
    ? `the port of the registry '${domain}' is malformed`
    : `the registry '${domain}' is not a host name`;
}

function findPathFault(components: readonly string[]): string | null {
  for (const component of components) {
    if (component === '') return 'empty path component';
    if (component !== component.toLowerCase()) return `'${component}' has upper-case letters`;
    if (!isPathComponent(component)) return `'${component}' is not a valid path component`;
  }
  return null;
}
