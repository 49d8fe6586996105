import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { renewLease } from '../../domain/leases/endpoint-lease.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { closed, dateTime, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { EndpointParams } from './endpoint-schemas.ts';

const SECONDS = { minimum: 5, maximum: 3600 };

/** The query of a create. */
export const LeaseQuery = Type.Object({
  leaseSeconds: Type.Optional(
    Type.Integer({
      ...SECONDS,
      description: 'Podyard only: deletes the endpoint so long after its creation, unless its lease is renewed.',
    }),
  ),
});

const RenewLeaseRequest = closed(
  { seconds: Type.Integer({ ...SECONDS, description: 'From now on.' }) },
  { $id: 'RenewLeaseRequest' },
);

const LeaseResponse = Type.Object(
  { endsAt: dateTime({ description: 'When the endpoint is deleted, unless the lease is renewed again.' }) },
  { $id: 'EndpointLease', description: 'Podyard only: how long an endpoint is kept for its client.' },
);

export const LEASE_SCHEMAS: NamedSchemas = [
  [RenewLeaseRequest, { seconds: 60 }],
  [LeaseResponse, { endsAt: '2026-11-20T17:00:00.000Z' }],
];

export const leaseRoutes: RestRoute = (app, deps) => {
  app.put('/v2/serverless/:id/lease', {
    schema: {
      operationId: 'renewEndpointLease',
      summary: 'Renew the lease of an endpoint',
      description:
        'Podyard only. Keeps an endpoint that was created with `leaseSeconds` for so many seconds from now. One that was created without stays, and has no lease: 409.',
      tags: ['podyard'],
      params: EndpointParams,
      body: ref(RenewLeaseRequest),
      response: { 200: ref(LeaseResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const input = { id: params.id as EndpointId, seconds: body.seconds };
      return { endsAt: (await change(deps, actor, renewLease, input)).toISOString() };
    },
  });
};
