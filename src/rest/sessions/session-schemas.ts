import type { Static } from 'typebox';
import { type Session, SIGN_IN_WAYS } from '../../domain/sessions/session-store.ts';
import { CREATED_AT, type NamedSchemas } from '../shared/example-values.ts';
import { dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const SessionResponse = Type.Object(
  {
    id: Type.String(),
    madeBy: stringEnum(SIGN_IN_WAYS, { description: 'How its user signed in.' }),
    madeWith: nullableString({ description: 'The name of the API key, or of the identity provider.' }),
    userAgent: nullableString({ description: 'What the browser called itself.' }),
    address: nullableString({ description: 'Where it signed in from.' }),
    createdAt: dateTime(),
    lastUsedAt: Type.Unsafe<string>({ ...dateTime(), description: 'To about a minute.' }),
    endsAt: Type.Unsafe<string>({ ...dateTime(), description: 'When it ends if it is not used again.' }),
    isCurrent: Type.Boolean({ description: 'True for the session that the request came with.' }),
  },
  { $id: 'Session', description: 'Podyard only: a browser that is signed in.' },
);

export const SessionList = Type.Object(
  { sessions: Type.Array(ref(SessionResponse)) },
  { $id: 'SessionList', description: 'Podyard only: where a user is signed in, the session used last first.' },
);

export const SessionParams = Type.Object({ id: Type.String({ description: 'Session identifier.' }) });

export const UserSessionParams = Type.Object({
  id: Type.String({ description: 'User identifier.' }),
  sessionId: Type.String({ description: 'Session identifier.' }),
});

/** `current`: the session that the request came with. */
export function toSessionResponse(session: Session, current: string | undefined): Static<typeof SessionResponse> {
  const { id, madeBy, madeWith, userAgent, address, createdAt, lastUsedAt, endsAt } = session;
  return {
    ...{ id, madeBy, madeWith, userAgent, address },
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    endsAt: endsAt.toISOString(),
    isCurrent: id === current,
  };
}

const session: Static<typeof SessionResponse> = {
  id: 's4d8f2g6h1j5kl',
  madeBy: 'KEY',
  madeWith: 'admin',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
  address: '203.0.113.7',
  createdAt: CREATED_AT,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
  endsAt: '2026-11-29T08:15:00.000Z',
  isCurrent: true,
};

export const SESSION_SCHEMAS: NamedSchemas = [
  [SessionResponse, session],
  [SessionList, { sessions: [session] }],
];
