import { HIDDEN } from '../../http/fields.ts';
import { MODELS_REQUEST } from '../models/model-schemas.ts';
import { CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { field, required, shown, shownAs } from '../shared/fields.ts';
import { includeQuery } from '../shared/include-query.ts';
import { dateTime, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { EndpointStateResponse } from './state-schemas.ts';

/** Schemas of endpoints that all revisions share. */

const name = Type.String({ minLength: 1, description: 'Endpoint name.' });
const dataCenterIds = Type.Array(Type.String(), {
  description: 'Preferred data centers; empty lets the scheduler choose.',
});
const networkVolumes = Type.Array(Type.String(), { description: 'Network volume identifiers.' });
const timeout = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Execution timeout per request in milliseconds; 0 for none.',
});
const flashboot = stringEnum(['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT']);

/** Members that both revisions spell alike, in groups: the order of the description is that of the rows. */
export const IDENTITY = {
  id: shown('id', Type.String()),
  userId: HIDDEN,
  version: HIDDEN,
  modelReferences: HIDDEN,
  models: {
    create: {
      models: Type.Optional({
        ...MODELS_REQUEST,
        description: 'Podyard only. The models of its workers, as `PUT /v2/serverless/{id}/models` sets them.',
      }),
    },
    toNew: (_body: { models?: unknown }) => undefined, // the route asks their origins
  },
  name: { ...required('name', name), answer: { name: Type.String() } },
};
export const SETTINGS = {
  dataCenterIds: field('dataCenterIds', dataCenterIds, []),
  networkVolumeIds: field('networkVolumes', networkVolumes, []),
  timeoutMs: field('timeout', timeout, 300_000),
  flashboot: field('flashboot', flashboot, 'OFF'),
  ...CONTAINER_FIELDS,
  createdAt: { answer: { createdAt: dateTime() }, ...shownAs('createdAt', (at: Date) => at.toISOString()) },
};

export const GPU_POOLS = Type.Array(Type.String(), {
  minItems: 1,
  description: 'GPU pools; workers run wherever there is capacity.',
});
export const GPU_COUNT = Type.Integer({
  minimum: 1,
  maximum: MAX_INTEGER,
  default: 1,
  description: 'GPUs per worker.',
});
export const WORKERS = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });

export const url = (description: string) => Type.String({ format: 'uri', description });

/** Refers to the revision's own `Endpoint`. */
export const EndpointList = Type.Object(
  {
    endpoints: Type.Array(Type.Unsafe<unknown>({ $ref: 'Endpoint#' })),
    states: Type.Optional(
      Type.Array(ref(EndpointStateResponse), { description: 'Podyard only, with `include=STATE`: the state of each.' }),
    ),
  },
  { $id: 'EndpointList', description: 'The endpoints of the account, oldest first.' },
);

export const EndpointQuery = Type.Object({
  ...includeQuery('`STATE`: adds the state of each endpoint, as `states`.').properties,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'Podyard only. At most so many endpoints, the oldest ones. Default: all.',
    }),
  ),
});

export const EndpointParams = Type.Object({ id: Type.String({ description: 'Endpoint identifier.' }) });
