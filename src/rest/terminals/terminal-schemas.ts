import { MAX_TERMINAL_SIDE } from '../../domain/terminals/terminal.ts';
import { CREATED_AT, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { closed, dateTime, nullableInteger, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_ARGUMENTS = 256;
const MAX_ARGUMENT_CHARACTERS = 32_768;
const side = (description: string) => Type.Integer({ minimum: 1, maximum: MAX_TERMINAL_SIDE, description });

const fields = {
  command: Type.Optional(
    Type.Array(Type.String({ maxLength: MAX_ARGUMENT_CHARACTERS, pattern: '^[^\\u0000]*$' }), {
      minItems: 1,
      maxItems: MAX_ARGUMENTS,
      description: 'The program and its arguments; no shell reads them. Default: a shell.',
    }),
  ),
  terminal: Type.Optional(
    Type.Union([closed({ columns: side('Width in characters.'), rows: side('Height in lines.') }), Type.Null()], {
      description: 'The size of its terminal. Null: none, and stdout and stderr come apart. Default: 80 by 24.',
    }),
  ),
  input: Type.Optional(Type.Boolean({ description: 'False: its stdin is empty. Default: true.' })),
};

export const CreatePodTerminalRequest = closed(fields, { $id: 'CreatePodTerminalRequest' });

export const CreateWorkerTerminalRequest = closed(
  {
    ...fields,
    workerId: Type.Optional(nullableString({ description: 'Null: a worker that runs. Default: null.' })),
  },
  { $id: 'CreateWorkerTerminalRequest' },
);

export const TerminalSessionResponse = Type.Object(
  {
    id: Type.String(),
    userId: Type.String(),
    userName: Type.String(),
    keyId: Type.String({ description: 'The API key that opened it. Empty: a browser that was signed in did.' }),
    keyName: Type.String(),
    podId: nullableString(),
    endpointId: nullableString(),
    workerId: nullableString(),
    program: Type.String({ description: 'The name of the program, without its arguments.' }),
    hasTerminal: Type.Boolean(),
    status: stringEnum(['PENDING', 'OPEN', 'ENDED']),
    clientAddress: nullableString({ description: 'Where it was opened from.' }),
    createdAt: dateTime(),
    openedAt: Type.Union([dateTime(), Type.Null()]),
    endedAt: Type.Union([dateTime(), Type.Null()]),
    exitCode: nullableInteger({ description: 'Null: the program runs, or did not end by itself.' }),
    endReason: nullableString({ description: 'Why it ended, unless the program ended by itself.' }),
  },
  {
    $id: 'TerminalSession',
    description: 'The record of a program in a pod or worker. Never what was typed or printed.',
  },
);

export const TerminalTicket = Type.Object(
  {
    session: ref(TerminalSessionResponse),
    url: Type.String({ description: 'Where to connect: a WebSocket.' }),
    protocols: Type.Array(Type.String(), {
      description: 'The subprotocols to connect with. One holds the ticket, which works once, within a minute.',
    }),
  },
  { $id: 'TerminalTicket', description: 'How to open a terminal session.' },
);

export const TerminalList = Type.Object(
  { terminals: Type.Array(ref(TerminalSessionResponse)) },
  { $id: 'TerminalList', description: 'Sessions that were opened, newest first.' },
);

export const TerminalParams = Type.Object({ id: Type.String({ description: 'Session identifier.' }) });

export const TerminalListQuery = Type.Object({
  user: Type.Optional(stringEnum(['me', 'all'], { description: 'Whose; `all` is for admins. Default: `me`.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default: 100.' })),
});

const session = {
  id: 't4k8w2n6x1d7bs',
  userId: USER_ID,
  userName: 'alice',
  keyId: 'a1q9w3e7r5t2yu',
  keyName: 'laptop',
  podId: 'p2n6s9x4d8w1bv',
  endpointId: null,
  workerId: null,
  program: 'sh',
  hasTerminal: true,
  status: 'OPEN',
  clientAddress: '203.0.113.7',
  createdAt: CREATED_AT,
  openedAt: CREATED_AT,
  endedAt: null,
  exitCode: null,
  endReason: null,
};

export const TERMINAL_SCHEMAS: NamedSchemas = [
  [CreatePodTerminalRequest, { terminal: { columns: 120, rows: 40 } }],
  [CreateWorkerTerminalRequest, { command: ['nvidia-smi'], terminal: null, input: false, workerId: null }],
  [TerminalSessionResponse, session],
  [
    TerminalTicket,
    {
      session: { ...session, status: 'PENDING', clientAddress: null, openedAt: null },
      url: 'wss://podyard.example.org/v2/account/terminals/connect',
      protocols: ['podyard.terminal.v1', 'ticket.pyt_works_once_within_a_minute'],
    },
  ],
  [TerminalList, { terminals: [session] }],
];
