import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, Suspense, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import type { Schemas } from '../../api/client.ts';
import { BASE_URL } from '../../api/client.ts';
import { ErrorAlert } from '../error-alert.tsx';
import { lazyPart } from '../lazy-part.ts';
import { endText, type TerminalEnd } from './terminal-connection.ts';
import type { TerminalTicket } from './terminal-screen.tsx';
import { SESSIONS_KEY, TerminalSessions } from './terminal-sessions.tsx';

const Screen = lazyPart(() => import('./terminal-screen.tsx'), 'TerminalScreen');

const NEEDS_SCOPE =
  'This needs a key with the scope exec, which all does not include. The operator can create one: podyard keys create --scope all exec';

/** A shell in a pod or worker, opened by a click. `open` asks the server for a ticket. */
export function TerminalPanel({
  open,
  isPlaceOf,
  children,
}: {
  open: () => Promise<Schemas['TerminalTicket']>;
  isPlaceOf: (session: Schemas['TerminalSession']) => boolean;
  /** Beside the button. */
  children?: ReactNode;
}) {
  const queries = useQueryClient();
  const [end, setEnd] = useState<TerminalEnd | null>(null);
  const [notice, setNotice] = useState<string | null>(null);
  const opening = useMutation({
    mutationFn: async (): Promise<TerminalTicket> => here(await open()),
    onMutate: () => {
      setEnd(null);
      setNotice(null);
    },
  });
  const refresh = () => void queries.invalidateQueries({ queryKey: SESSIONS_KEY });
  const isOpen = opening.data !== undefined && end === null;
  return (
    <Stack>
      <Group>
        {children}
        {!isOpen && (
          <Button onClick={() => opening.mutate()} loading={opening.isPending}>
            {end === null ? 'Open a terminal' : 'Open another one'}
          </Button>
        )}
        {isOpen && (
          <Button variant="default" onClick={opening.reset}>
            End
          </Button>
        )}
        {end !== null && <Text size="sm">{endText(end)}</Text>}
      </Group>
      {notice !== null && isOpen && <Alert color="orange">{notice}</Alert>}
      {opening.isError && <ErrorAlert error={readable(opening.error)} />}
      {opening.data && (
        <Suspense fallback={<Skeleton h={420} />}>
          <Screen
            ticket={opening.data}
            onNotice={setNotice}
            onEnd={(how) => {
              setEnd(how);
              refresh();
            }}
          />
        </Suspense>
      )}
      <TerminalSessions isPlaceOf={isPlaceOf} />
    </Stack>
  );
}

/** The server as this page reaches it: its own idea of its URL may be another. */
function here({ url, protocols }: Schemas['TerminalTicket']): TerminalTicket {
  const base = new URL(BASE_URL || '/', window.location.href);
  const place = new URL(url);
  return { url: `${base.protocol.replace('http', 'ws')}//${base.host}${place.pathname}`, protocols };
}

function readable(error: Error): Error {
  const isScope = error instanceof ApiError && error.status === 403 && error.message === 'access denied';
  return isScope ? new Error(NEEDS_SCOPE) : error;
}
