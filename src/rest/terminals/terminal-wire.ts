import type { Static } from 'typebox';
import {
  CONNECT_PATH,
  TERMINAL_PROTOCOL,
  type TerminalRequest,
  type TerminalSession,
  TICKET_PROTOCOL,
} from '../../domain/terminals/terminal.ts';
import type { CreatePodTerminalRequest, TerminalSessionResponse, TerminalTicket } from './terminal-schemas.ts';

const DEFAULT_SIZE = { columns: 80, rows: 24 };
/** The best shell that the image has. */
const SHELL = ['/bin/sh', '-c', 'if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi'];

export function toTerminalRequest(body: Static<typeof CreatePodTerminalRequest>): TerminalRequest {
  const { command = SHELL, terminal = DEFAULT_SIZE, input = true } = body;
  return { command, size: terminal, hasInput: input };
}

export function toTerminalSession(session: TerminalSession): Static<typeof TerminalSessionResponse> {
  const { createdAt, openedAt, endedAt, ...rest } = session;
  return {
    ...rest,
    createdAt: createdAt.toISOString(),
    openedAt: openedAt?.toISOString() ?? null,
    endedAt: endedAt?.toISOString() ?? null,
  };
}

/** `publicUrl`: of the API as the client reaches it. */
export function toTerminalTicket(
  publicUrl: string,
  { session, ticket }: { session: TerminalSession; ticket: string },
): Static<typeof TerminalTicket> {
  return {
    session: toTerminalSession(session),
    url: `${publicUrl.replace(/^http/, 'ws')}${CONNECT_PATH}`,
    protocols: [TERMINAL_PROTOCOL, `${TICKET_PROTOCOL}${ticket}`],
  };
}
