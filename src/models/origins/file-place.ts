/** Where the files of a pinned model are, and what their origin is given of the owner's secret. */
import { Failure } from '../../core/errors.ts';
import { parseObjectName } from '../../domain/models/object-name.ts';
import type { PinnedFile, PinnedModel } from '../../domain/models/pinned-model.ts';
import type { OriginAccess } from '../fetch/origin-access.ts';

export interface FilePlace {
  url: URL;
  access: OriginAccess;
}

type Model = Pick<PinnedModel, 'source' | 'name' | 'commit'>;

/** `secret`: what the owner stored for the origin; null: nothing. Throws for a secret that is none of the origin's. */
export function placeOf(
  { source, name, commit }: Model,
  { path, digest }: Pick<PinnedFile, 'path' | 'digest'>,
  { secret, hubUrl }: { secret: string | null; hubUrl: string },
): FilePlace {
  const bearer: OriginAccess = secret === null ? null : { kind: 'bearer', token: secret };
  switch (source) {
    case 'HTTPS':
      return { url: new URL(name), access: bearer };
    case 'S3':
      return objectPlace(name, secret);
    case 'OCI':
      return { url: registryUrl(name, `blobs/${digest}`), access: registryAccess(secret) };
    case 'HUB': {
      const parts = path.split('/').map(encodeURIComponent).join('/');
      return { url: new URL(`${hubUrl}/${name}/resolve/${commit}/${parts}`), access: bearer };
    }
  }
}

/** By path, which all services understand; the names of buckets with dots are in no certificate. */
export function objectPlace(name: string, secret: string | null): FilePlace {
  const object = parseObjectName(name);
  if ('fault' in object) throw new Failure('unprocessable', `the model '${name}' cannot be fetched: ${object.fault}`);
  const { bucket, key, endpoint, region } = object;
  const service = endpoint ?? `https://s3.${region}.amazonaws.com`;
  const url = new URL(`${service}/${bucket}/${key.split('/').map(encodeStrictly).join('/')}`);
  if (secret === null) return { url, access: null };
  const [accessKeyId, secretAccessKey] = pairOf(
    secret,
    'S3 takes a secret of the form ACCESS_KEY_ID:SECRET_ACCESS_KEY',
  );
  return { url, access: { kind: 's3', region, accessKeyId, secretAccessKey } };
}

/** Registries of this machine have no TLS, as for container engines. */
export function registryUrl(name: string, path: string): URL {
  const [, registry = '', repository = ''] = /^oci:\/\/([^/]+)\/(.+)$/.exec(name) ?? [];
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const official = registry === 'docker.io' && !repository.includes('/') ? 'library/' : '';
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(registry);
  return new URL(`${isLocal ? 'http' : 'https'}://${host}/v2/${official}${repository}/${path}`);
}

export function registryAccess(secret: string | null): OriginAccess {
  if (secret === null) return { kind: 'registry', user: '', password: '' };
  const [user, password] = pairOf(secret, 'registries take a secret of the form USER:PASSWORD');
  return { kind: 'registry', user, password };
}

function pairOf(secret: string, form: string): [string, string] {
  const colon = secret.indexOf(':');
  if (colon < 1 || colon === secret.length - 1) throw new Failure('badRequest', `tokenSecret: ${form}`);
  return [secret.slice(0, colon).trim(), secret.slice(colon + 1).trim()];
}

/** As Amazon signs a key: everything but unreserved characters (RFC 3986). */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
