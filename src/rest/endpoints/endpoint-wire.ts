import type { TUnsafe } from 'typebox';
import type { FailureKind } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import type { Wire } from '../shared/wire.ts';

/** How a revision spells endpoints. Bodies have passed the wire's own schemas. */
export interface EndpointWire<Create = unknown, Update = unknown> extends Wire {
  /** References to the schemas. */
  readonly CreateRequest: TUnsafe<Create>;
  readonly UpdateRequest: TUnsafe<Update>;
  readonly Response: TUnsafe<object>;
  /** Failures of a create, beside those that every create has. */
  readonly createFailures?: FailureKind[];
  /** Fills in the defaults of a create, except those of the container, which a template may provide. */
  toNew(body: Create): NewEndpoint;
  /** Maps the fields that are present: absent and null differ. */
  toChange(body: Update, before: Endpoint): EndpointChange;
  /** Throws `badRequest` for a change that this revision must not make. */
  checkChange?(before: Endpoint, change: EndpointChange): void;
  toResponse(endpoint: Endpoint, bases: UrlBases): object;
  /** Throws the error of a create or an update as this revision answers it. */
  refuse(error: unknown): never;
}

/** An endpoint together with what its URLs are built from. */
export type ShownEndpoint = Endpoint & { urls: UrlBases };

/** The base of request URLs: the API's public URL, and the load-balancing host, null if not configured. */
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
