import { STATE_FIELDS } from '../endpoints/state-schemas.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { nullableString, pageLimit, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

/** The largest page, and the one without a limit. */
export const MAX_ENDPOINTS = 1_000;

export const InstallationEndpointQuery = Type.Object({
  account: Type.Optional(Type.String({ description: 'The id of a person or a team: only what it owns.' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of a name, in any case.' })),
  limit: pageLimit('endpoints', { max: MAX_ENDPOINTS, default: MAX_ENDPOINTS }),
  after: Type.Optional(Type.String({ description: '`next` of the page before, with the same filters.' })),
});

export const InstallationEndpointList = Type.Object(
  {
    endpoints: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        type: stringEnum(['QUEUE_BASED', 'LOAD_BALANCING']),
        account: Type.Object(
          { id: Type.String(), name: Type.String(), kind: stringEnum(['PERSON', 'TEAM']) },
          { description: 'Who owns it.' },
        ),
        workers: Type.Integer({ minimum: 0, description: 'Live workers.' }),
        ...STATE_FIELDS,
      }),
    ),
    next: nullableString({ description: 'The `after` of the next page; null: this is the last one.' }),
  },
  { $id: 'InstallationEndpointList', description: 'Podyard only: endpoints of all accounts, by id.' },
);

export const ENDPOINT_LIST_SCHEMAS: NamedSchemas = [
  [
    InstallationEndpointList,
    {
      endpoints: [
        {
          id: 'q3v8k1z0m5x7ab',
          name: 'sdxl',
          type: 'QUEUE_BASED',
          account: { id: 'u4r8t2y6u1i9op', name: 'vision', kind: 'TEAM' },
          workers: 3,
          state: 'HEALTHY',
          since: '2026-11-20T09:30:00.000Z',
          reason: null,
          warnings: [],
        },
      ],
      next: null,
    },
  ],
];
