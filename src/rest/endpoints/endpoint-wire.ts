import type { TSchema } from 'typebox';
import type { FailureKind } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointUpdate } from '../../domain/endpoints/update-endpoint.ts';
import type { Wire } from '../shared/wire.ts';

/** How a revision spells endpoints. Bodies have passed the wire's own schemas. */
export interface EndpointWire extends Wire {
  readonly CreateRequest: TSchema;
  readonly UpdateRequest: TSchema;
  readonly Response: TSchema;
  /** What a create may fail with, besides what every create does. */
  readonly createFailures?: FailureKind[];
  /** Fills in the defaults of a create, except those of the container, which a template may provide. */
  toNew(body: unknown): NewEndpoint;
  /** Maps the fields that are present: absent and null differ. */
  toChange(body: unknown): EndpointUpdate;
  toResponse(endpoint: Endpoint, bases: UrlBases): unknown;
  /** Throws the error of a create or an update as this revision answers it. */
  refuse(error: unknown): never;
}

/** What request URLs are built from: the API's public URL, and the load-balancing host, null if not configured. */
export interface UrlBases {
  publicUrl: string;
  lbHost: string | null;
}

/** Host names of the client's own machine: a client that reached us by one can also resolve `<id>.localhost`. */
const LOCAL = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Returns where a load-balancing endpoint answers: its own host name if one is configured or resolves by itself, else a path. */
export function baseUrl(id: EndpointId, { publicUrl, lbHost }: UrlBases): string {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (lbHost !== null) return `${protocol}//${id}.${lbHost}`;
  if (!LOCAL.test(hostname)) return `${publicUrl}/v2/${id}/lb`;
  return `${protocol}//${id}.localhost${port === '' ? '' : `:${port}`}`;
}
