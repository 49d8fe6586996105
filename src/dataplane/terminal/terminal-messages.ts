import { MAX_TERMINAL_SIDE } from '../../domain/terminals/terminal.ts';
import { EXEC_SIGNALS, type ExecSignal, type TerminalSize } from '../../runtimes/execution.ts';

/** Bytes that either side may send before the other has acknowledged them (docs/interface/terminals.md, "Flow control"). */
export const WINDOW_BYTES = 256 * 1024;
/** The first byte of a binary message. */
export const STREAMS = { input: 0, output: 1, errors: 2 } as const;

/** A text message of a client. */
export type ClientMessage =
  | { type: 'resize'; size: TerminalSize }
  | { type: 'eof' }
  | { type: 'signal'; name: ExecSignal }
  | { type: 'ack'; bytes: number };

/** A text message to a client. */
export type ServerMessage =
  | { type: 'ready' }
  | { type: 'ack'; bytes: number }
  /** Something to show beside the output. */
  | { type: 'notice'; text: string }
  /** The last message. `code`: null when the program did not end by itself; then `reason` says why. */
  | { type: 'exit'; code: number | null; reason: string | null };

/** Undefined for what is not a message of the protocol. */
export function parseClientMessage(text: string): ClientMessage | undefined {
  const message = parseObject(text);
  switch (message?.type) {
    case 'resize': {
      const { columns, rows } = message;
      return isSide(columns) && isSide(rows) ? { type: 'resize', size: { columns, rows } } : undefined;
    }
    case 'eof':
      return { type: 'eof' };
    case 'signal': {
      const name = EXEC_SIGNALS.find((one) => one === message.name);
      return name && { type: 'signal', name };
    }
    case 'ack':
      return isCount(message.bytes) ? { type: 'ack', bytes: message.bytes } : undefined;
    default:
      return undefined;
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isSide(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_TERMINAL_SIDE;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
