import { DEFAULT_WAIT_MINUTES, MAX_DESTINATIONS } from '../../domain/notices/change-destination.ts';
import { DESTINATION_KINDS, NOTICE_EVENTS } from '../../domain/notices/notice.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { byDefault, closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const SCOPES = ['ACCOUNT', 'INSTALLATION'] as const;
const SCOPE =
  'ACCOUNT: told of the records of its owner, a user or a team. INSTALLATION: of those of all, and of the installation itself.';
const EVENTS = 'What it is told of. DISK, LEADER_CHANGED, AUDIT_STREAM and UPDATE_AVAILABLE are for INSTALLATION only.';
const WAIT = 'How long an endpoint waits for capacity, or its oldest job in the queue, before that is told. Minutes.';
const MAX_URL = 2_048;
const MAX_NAME = 100;
const MAX_EMAIL = 254;

const kind = stringEnum(DESTINATION_KINDS, {
  description: 'SLACK and TEAMS: webhooks of these, or of what takes the same JSON.',
});
const event = stringEnum(NOTICE_EVENTS);

const destinationFields = {
  id: Type.String(),
  scope: stringEnum(SCOPES, { description: SCOPE }),
  name: Type.String(),
  kind,
  address: Type.String({ description: 'The email address, or the host of the URL, which nobody can read again.' }),
  events: Type.Array(event, { description: EVENTS }),
  waitMinutes: Type.Integer({ description: WAIT }),
  enabled: Type.Boolean({ description: 'False: it is told nothing.' }),
  createdAt: dateTime(),
  lastSentAt: nullableString({ format: 'date-time', description: 'Null: nothing within the last 30 days.' }),
  lastError: nullableString({ description: 'Why the last message was not accepted. Null: it was.' }),
  waiting: Type.Integer({ description: 'Messages that wait to be sent.' }),
};

export const NoticeDestinationResponse = Type.Object(destinationFields, {
  $id: 'NoticeDestination',
  description: 'Podyard only: where people are told that something needs them.',
});

export const CreatedNoticeDestinationResponse = Type.Object(
  {
    ...destinationFields,
    signingSecret: nullableString({
      description: 'Of kind WEBHOOK: signs what is sent, and is shown only in this response. Null for all others.',
    }),
  },
  { $id: 'CreatedNoticeDestination', description: 'Podyard only: the new destination, with what signs a webhook.' },
);

export const NoticeDestinationList = Type.Object(
  { destinations: Type.Array(ref(NoticeDestinationResponse), { description: 'Oldest first.' }) },
  { $id: 'NoticeDestinationList', description: `Podyard only: destinations, ${MAX_DESTINATIONS} at most.` },
);

const name = Type.String({ minLength: 1, maxLength: MAX_NAME, pattern: '^[^\\u0000]*$', description: 'For people.' });
const email = Type.String({
  maxLength: MAX_EMAIL,
  pattern: '^[^\\s<>@,;:"\\\\\\u0000-\\u001f]+@[A-Za-z0-9.-]+$',
  description: 'Of kind EMAIL. For ACCOUNT your own address, a team member’s, or one that the operator allows.',
});
const url = Type.String({
  maxLength: MAX_URL,
  description: 'Of the other kinds. It must be one that webhooks may reach.',
});
const events = Type.Array(event, { minItems: 1, maxItems: NOTICE_EVENTS.length, description: EVENTS });
const waitMinutes = Type.Integer({ minimum: 1, maximum: 1_440, description: WAIT });

export const CreateNoticeDestinationRequest = closed(
  {
    name,
    kind,
    scope: Type.Optional(byDefault(stringEnum(SCOPES, { description: SCOPE }), 'ACCOUNT')),
    email: Type.Optional(email),
    url: Type.Optional(url),
    events: Type.Optional({ ...events, description: `${EVENTS} Absent: all that its scope can be told of.` }),
    waitMinutes: Type.Optional(byDefault(waitMinutes, DEFAULT_WAIT_MINUTES)),
  },
  { $id: 'CreateNoticeDestinationRequest', description: 'Podyard only: a new destination.' },
);

export const UpdateNoticeDestinationRequest = closed(
  {
    name: Type.Optional(name),
    email: Type.Optional(email),
    url: Type.Optional(url),
    events: Type.Optional(events),
    waitMinutes: Type.Optional(waitMinutes),
    enabled: Type.Optional(Type.Boolean({ description: 'False: it is told nothing until this is true again.' })),
  },
  { $id: 'UpdateNoticeDestinationRequest', description: 'Podyard only: changes of a destination. Absent: unchanged.' },
);

export const NoticeTestResponse = Type.Object(
  {
    delivered: Type.Boolean(),
    error: nullableString({ description: 'Why it was not accepted, one sentence. Null: it was.' }),
  },
  { $id: 'NoticeTest', description: 'Podyard only: whether a test was accepted.' },
);

const item = Type.Object({
  event: stringEnum([...NOTICE_EVENTS, 'TEST']),
  phase: stringEnum(['BEGAN', 'ENDED']),
  name: nullableString({ description: 'Of the record. Null: the installation, or everything of an account.' }),
  owner: nullableString({ description: 'Whose record it is. Null: the installation’s.' }),
  detail: Type.String(),
});

export const NoticeDeliveryList = Type.Object(
  {
    deliveries: Type.Array(
      Type.Object({
        id: Type.String(),
        createdAt: dateTime(),
        status: stringEnum(['WAITING', 'SENT', 'GIVEN_UP'], {
          description: 'GIVEN_UP: after three days; of a test, at once.',
        }),
        items: Type.Array(item, { description: 'What it says.' }),
        more: Type.Integer({ description: 'How many items it leaves out.' }),
        attempts: Type.Integer(),
        sentAt: nullableString({ format: 'date-time' }),
        nextAttemptAt: nullableString({ format: 'date-time' }),
        error: nullableString({ description: 'Why the last attempt failed.' }),
      }),
      { description: 'Newest first.' },
    ),
  },
  {
    $id: 'NoticeDeliveryList',
    description: 'Podyard only: messages to a destination of the last 30 days, 50 at most.',
  },
);

export const NoticeQuery = Type.Object({
  scope: Type.Optional(stringEnum(SCOPES, { description: 'INSTALLATION: for admins. Default: ACCOUNT.' })),
});
export const NoticeParams = Type.Object({ id: Type.String({ description: 'Destination identifier.' }) });

const destination = {
  id: 'd7m2k9q4x1w8bz',
  scope: 'ACCOUNT',
  name: 'on call',
  kind: 'WEBHOOK',
  address: 'hooks.example.com',
  events: ['ENDPOINT_FAILING', 'WAITING_FOR_CAPACITY'],
  waitMinutes: 10,
  enabled: true,
  createdAt: '2026-11-26T09:30:00.000Z',
  lastSentAt: '2026-11-26T10:02:11.000Z',
  lastError: null,
  waiting: 0,
};

export const NOTICE_SCHEMAS: NamedSchemas = [
  [NoticeDestinationResponse, destination],
  [CreatedNoticeDestinationResponse, { ...destination, signingSecret: 'pyn_…' }],
  [NoticeDestinationList, { destinations: [destination] }],
  [
    CreateNoticeDestinationRequest,
    {
      name: 'on call',
      kind: 'WEBHOOK',
      url: 'https://hooks.example.com/podyard',
      events: ['ENDPOINT_FAILING', 'WAITING_FOR_CAPACITY'],
    },
  ],
  [UpdateNoticeDestinationRequest, { enabled: false }],
  [NoticeTestResponse, { delivered: true, error: null }],
  [
    NoticeDeliveryList,
    {
      deliveries: [
        {
          id: '42',
          createdAt: '2026-11-26T10:02:10.000Z',
          status: 'SENT',
          items: [
            {
              event: 'ENDPOINT_FAILING',
              phase: 'BEGAN',
              name: 'llm',
              owner: 'alice',
              detail: 'the last 3 starts failed: exited with code 1',
            },
          ],
          more: 0,
          attempts: 1,
          sentAt: '2026-11-26T10:02:11.000Z',
          nextAttemptAt: null,
          error: null,
        },
      ],
    },
  ],
];
