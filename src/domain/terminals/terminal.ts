import type { EndpointId, KeyId, PodId, SessionId, TerminalId, UserId, WorkerId } from '../../core/ids.ts';

/** A program that a session runs. */
export interface TerminalRequest {
  command: readonly string[];
  /** Null: without a terminal. */
  size: { columns: number; rows: number } | null;
  hasInput: boolean;
}

export type TerminalTarget =
  | { podId: PodId; endpointId: null; workerId: null }
  | { podId: null; endpointId: EndpointId; workerId: WorkerId };

/** PENDING: its ticket was not used yet. */
type TerminalStatus = 'PENDING' | 'OPEN' | 'ENDED';

/** The record of a session; never what was typed or printed. */
export type TerminalSession = TerminalTarget & {
  id: TerminalId;
  userId: UserId;
  userName: string;
  /** Empty where a browser's session opened it. */
  keyId: KeyId;
  keyName: string;
  sessionId: SessionId | null;
  /** Without its arguments. */
  program: string;
  hasTerminal: boolean;
  status: TerminalStatus;
  clientAddress: string | null;
  createdAt: Date;
  openedAt: Date | null;
  endedAt: Date | null;
  exitCode: number | null;
  endReason: string | null;
};

/** How long a ticket can be used. */
export const TICKET_SECONDS = 60;
/** After this without a word from its process, which may be there, a session counts as ended: longer than the slowest tick. */
export const SILENT_SECONDS = 60;
/** Why such a session ended. */
export const PROCESS_GONE = 'the server process that served it is gone';
const MAX_PROGRAM_CHARACTERS = 100;

/** Returns the name of a program, without folders. */
export function programOf([path = '']: readonly string[]): string {
  return (
    path.slice(path.lastIndexOf('/') + 1).slice(0, MAX_PROGRAM_CHARACTERS) || path.slice(0, MAX_PROGRAM_CHARACTERS)
  );
}

/** Returns the id of the pod or worker. */
export function workloadOf(target: TerminalTarget): PodId | WorkerId {
  return target.podId ?? target.workerId;
}

/** Where a WebSocket connects. */
export const CONNECT_PATH = '/v2/account/terminals/connect';
/** The subprotocol that both sides speak (docs/interface/terminals.md). */
export const TERMINAL_PROTOCOL = 'podyard.terminal.v1';
/** Before a ticket among the subprotocols: browsers can set no header of a WebSocket, and a URL would be logged. */
export const TICKET_PROTOCOL = 'ticket.';
/** The largest width and height of a terminal. */
export const MAX_TERMINAL_SIDE = 1_000;
