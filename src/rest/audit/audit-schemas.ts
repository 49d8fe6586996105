import { ACTOR_KINDS, OUTCOMES } from '../../domain/audit/audit-entry.ts';
import { DEFAULT_AUDIT_PAGE, MAX_AUDIT_PAGE } from '../../domain/audit/list-entries.ts';
import { CREATED_AT, ENDPOINT_ID, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { dateTime, nullableString, pageLimit, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_TEXT = 200;

const AuditEntryResponse = Type.Object(
  {
    seq: Type.Integer({ description: 'Grows with time. What was rolled back leaves gaps.' }),
    at: dateTime(),
    operation: Type.String({ description: 'What was done: `<record>.<verb>`. Names never change.' }),
    recordId: nullableString({ description: 'On what. Null: on no record that exists.' }),
    recordName: nullableString({ description: 'Its name at the time.' }),
    ownerId: nullableString({ description: 'Whose record. Null: the installation’s.' }),
    ownerName: nullableString({ description: 'Their name today. Null: deleted.' }),
    actorKind: stringEnum(ACTOR_KINDS, {
      description:
        '`key`: a request with an API key. `session`: somebody signed in to the console. `system`: Podyard itself. `operator`: a ' +
        'command on the server, which needs no key.',
    }),
    actorId: nullableString({ description: 'The user who did it. Null: nobody, or the operator.' }),
    actorName: nullableString({ description: 'Their name today. Null: deleted.' }),
    keyId: nullableString(),
    keyName: nullableString({ description: 'Today. Null: deleted.' }),
    sessionId: nullableString(),
    interface: Type.String({
      description: 'What the client spoke or was: `rest`, `v1`, `graphql`, `cli`, `console`, `tools` or `control`.',
    }),
    address: nullableString({ description: 'The client’s.' }),
    requestId: nullableString({ description: 'The `x-request-id` of the response.' }),
    outcome: stringEnum(OUTCOMES, {
      description:
        '`done`: committed. `refused`: nothing was changed. `failed`: the same, through a fault of the server.',
    }),
    reason: nullableString({ description: 'Why it was refused or failed.' }),
    repeats: Type.Integer({ description: 'How many refusals alike it stands for.' }),
    changes: Type.Unsafe<Record<string, [unknown, unknown]> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'array', items: {} },
      description:
        'By field: the value before and after. Values of secrets, credentials and `env` are `***`. Null: none.',
    }),
  },
  { $id: 'AuditEntry', description: 'Podyard only: who did what.' },
);

export const AuditList = Type.Object(
  {
    entries: Type.Array(ref(AuditEntryResponse), { description: 'Newest first.' }),
    nextCursor: nullableString({ description: 'The `cursor` of the next page; null at the end.' }),
  },
  { $id: 'AuditList', description: 'Podyard only: a page of the audit log.' },
);

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT, description }));

const filters = {
  userId: text('Whose records: by default the caller’s. For admins: another user’s, or `all` for everything.'),
  actorId: text('Done by this user.'),
  operation: text('An operation, such as `endpoint.update`, or all of a kind of record, such as `endpoint`.'),
  recordId: text('On this record.'),
  outcome: Type.Optional(stringEnum(OUTCOMES, { description: 'Ended like this.' })),
  since: Type.Optional(dateTime({ description: 'At or after this time.' })),
  until: Type.Optional(dateTime({ description: 'Before this time.' })),
};

export const AuditExportQuery = Type.Object(filters);
export const AuditQuery = Type.Object({
  ...filters,
  limit: pageLimit('entries', { max: MAX_AUDIT_PAGE, default: DEFAULT_AUDIT_PAGE }),
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before, with the same filters.' })),
});

const entry = {
  seq: 4711,
  at: CREATED_AT.replace('Z', '000Z'),
  operation: 'endpoint.update',
  recordId: ENDPOINT_ID,
  recordName: 'transcriber',
  ownerId: USER_ID,
  ownerName: 'alice',
  actorKind: 'key',
  actorId: USER_ID,
  actorName: 'alice',
  keyId: 'a1q9w3e7r5t2yu',
  keyName: 'deploy',
  sessionId: null,
  interface: 'cli',
  address: '192.0.2.7',
  requestId: 'req_3f9c2b7a',
  outcome: 'done',
  reason: null,
  repeats: 1,
  changes: {
    workers: [
      { min: 0, max: 3 },
      { min: 1, max: 3 },
    ],
    env: [{ TOKEN: '***' }, { TOKEN: '***' }],
  },
};

export const AUDIT_EXAMPLE_LINE = `${JSON.stringify(entry)}\n`;

export const AUDIT_SCHEMAS: NamedSchemas = [
  [AuditEntryResponse, entry],
  [AuditList, { entries: [entry], nextCursor: null }],
];
